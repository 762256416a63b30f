import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['*.test.ts'],
    testTimeout: 60_000,
    // Starting a server on an empty data folder, on a busy machine.
    hookTimeout: 180_000,
  },
})
