import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const target = process.env.CARGO_TARGET_DIR ?? path.resolve(import.meta.dirname, '../../target')

/** Asks `url` over `connections` for `seconds` and returns what `load` prints; fails on any answer outside 2xx. */
export async function load(url, { headers = {}, connections = 16, seconds }) {
  const flags = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const { stdout } = await run(path.join(target, 'release/load'), [
    url,
    '-c',
    String(connections),
    '-s',
    String(seconds),
    ...flags,
  ])
  const figures = JSON.parse(stdout)
  if (figures.failures > 0) throw new Error(`${figures.failures} of ${figures.requests} answers failed: ${url}`)
  return figures
}
