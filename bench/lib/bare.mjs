import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const target = process.env.CARGO_TARGET_DIR ?? path.resolve(import.meta.dirname, '../../target')

/** Measures a step of a request in isolation: runs `bare` with these arguments and returns its figures. */
export async function bare(...parts) {
  const { stdout } = await run(path.join(target, 'release/bare'), parts.map(String))
  return JSON.parse(stdout)
}
