import { fileURLToPath } from 'node:url'

import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

import { files } from './build/chunks.ts'
import { pageHeads } from './build/page-heads.ts'
import { preloadFirstScreen } from './build/preload-first-screen.ts'
import { withoutInjectedStyles } from './build/strict-csp.ts'

/** Where `vite dev` forwards the backend's paths; a server of this repository or any Supabase URL. */
const backend = process.env.BASALT_URL ?? 'http://127.0.0.1:54321'

const backendPaths = ['/rest', '/auth', '/storage', '/functions', '/realtime']

export default defineConfig({
  plugins: [react(), tailwindcss(), withoutInjectedStyles(), preloadFirstScreen(), pageHeads()],
  resolve: {
    alias: {
      '@': fileURLToPath(new URL('./src', import.meta.url)),
      // The rules that forms have in common with the functions that take what they send.
      '@shared': fileURLToPath(new URL('../functions/_shared', import.meta.url)),
    },
  },
  build: {
    target: 'baseline-widely-available',
    // A data: URL would need an exception in the Content-Security-Policy's font-src and img-src.
    assetsInlineLimit: 0,
    rolldownOptions: { output: { codeSplitting: { groups: files } } },
  },
  server: {
    proxy: Object.fromEntries(
      backendPaths.map((path) => [`${path}/v1`, { target: backend, changeOrigin: true, ws: true }]),
    ),
  },
})
