/** Set-up of each file of tests: what the file has started ends with it, also if a test or a hook fails. */
import { afterAll } from 'vitest'

import { stopAll } from './programs.mjs'

// Hooks run in reverse order, so that this one comes after those of the file.
afterAll(stopAll)
