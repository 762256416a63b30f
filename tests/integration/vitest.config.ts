import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['**/*.test.ts'],
    globalSetup: ['./setup.ts'],
    setupFiles: ['../support/stop-programs.ts'],
    // A test ends as soon as what it waits for is there. The limits are for a slow machine on which much else runs.
    testTimeout: 60_000,
    hookTimeout: 240_000,
    // The report names what needed it.
    retry: process.env.CI === undefined ? 0 : 1,
    expect: { poll: { timeout: 20_000 } },
    // More than the processors of a small machine: the tests wait for servers, timers and each other for a third of the time.
    maxWorkers: 3,
  },
})
