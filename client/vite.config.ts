import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

import { aliases } from './build/aliases.ts'
import { files } from './build/chunks.ts'
import { pageHeads } from './build/page-heads.ts'
import { preloadFirstScreen } from './build/preload-first-screen.ts'
import { unusedRouterParts } from './build/unused-router-parts.ts'

/** Where `vite dev` forwards the backend's paths; a server of this repository or any Supabase URL. */
const backend = process.env.BASALT_URL ?? 'http://127.0.0.1:54321'

const backendPaths = ['/rest', '/auth', '/storage', '/functions', '/realtime']

export default defineConfig({
  plugins: [react(), tailwindcss(), unusedRouterParts(), preloadFirstScreen(), pageHeads()],
  resolve: { alias: aliases },
  build: {
    target: 'baseline-widely-available',
    // A data: URL would need an exception in the Content-Security-Policy's font-src and img-src.
    assetsInlineLimit: 0,
    // Browsers that do not know such links load the files all the same, when they are imported.
    modulePreload: { polyfill: false },
    rolldownOptions: { output: { codeSplitting: { groups: files } } },
  },
  server: {
    proxy: Object.fromEntries(
      backendPaths.map((path) => [`${path}/v1`, { target: backend, changeOrigin: true, ws: true }]),
    ),
  },
})
