import { defineConfig } from 'vitest/config'

export default defineConfig({
  // The sources of all cases are loaded, which takes its time on a machine that is busy.
  test: { testTimeout: 30_000 },
})
