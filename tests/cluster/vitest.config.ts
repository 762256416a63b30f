import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    globalSetup: ['./setup.ts'],
    // All tests use the same cluster, and some measure time.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
})
