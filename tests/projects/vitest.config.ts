import { configDefaults, defineConfig } from 'vitest/config'

import { runsTestsOf } from '../support/extensions.mjs'

// Its migrations ask for the extension vector, which not every machine can have.
const todo = 'todo.test.ts'
const served = runsTestsOf('vector')

export default defineConfig({
  test: {
    include: ['*.test.ts'],
    exclude: [...configDefaults.exclude, ...(served ? [] : [todo])],
    passWithNoTests: !served,
    setupFiles: ['../support/stop-programs.ts'],
    testTimeout: 60_000,
    // The report names what needed it.
    retry: process.env.CI === undefined ? 0 : 1,
    maxWorkers: 3,
    // Starting a server on an empty data folder, on a busy machine.
    hookTimeout: 180_000,
  },
})
