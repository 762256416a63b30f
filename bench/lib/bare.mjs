import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { program } from './program.mjs'

const run = promisify(execFile)

/** Measures a step of a request in isolation: runs `bare` with these arguments and returns its figures. */
export async function bare(...parts) {
  const { stdout } = await run(program('bare'), parts.map(String))
  return JSON.parse(stdout)
}
