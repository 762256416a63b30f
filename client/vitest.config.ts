import { defineConfig, mergeConfig } from 'vitest/config'

import viteConfig from './vite.config.ts'

export default mergeConfig(
  viteConfig,
  defineConfig({
    test: {
      environment: 'jsdom',
      // What fails once on a machine with other work is tried again, and named.
      retry: process.env.CI === undefined ? 0 : 1,
      setupFiles: ['./src/testing/setup.ts'],
      env: { VITE_SUPABASE_URL: 'http://backend.test', VITE_SUPABASE_ANON_KEY: 'anon-key' },
      // Real time, unlike everything else in tests: a page in jsdom takes seconds on a machine with other work.
      testTimeout: 60_000,
      restoreMocks: true,
      unstubGlobals: true,
    },
  }),
)
