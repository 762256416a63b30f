import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    globalSetup: ['./setup.ts'],
    // All of them are about one cluster, and about time.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 240_000,
  },
})
