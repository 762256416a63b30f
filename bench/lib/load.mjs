import { spawn } from 'node:child_process'

import { program } from './program.mjs'

/** How long a load may go on after its time, in milliseconds. */
const grace = 60_000

/**
 * A request in the form of the load generator; `{1..9}`, `{uuid}` and `{seq}` in its texts are replaced for each request.
 * @typedef {{ method?: string, path: string, headers?: Record<string, string>, body?: string, status?: number,
 *   weight?: number }} Request
 */

/**
 * Sends `requests` below `url` over so many connections and returns the load generator's figures: `requests`, `asked`
 * (warm-up included), `per_second`, `p50_us`, `p99_us`, `max_us`.
 *
 * Throws when a response's status is not the expected one.
 */
export async function load(url, requests, { connections, seconds, warmup = 0.5 }) {
  const flags = ['--connections', connections, '--seconds', seconds, '--warmup', warmup].map(String)
  const child = spawn(program('load'), [...flags, url], {
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: (seconds + warmup) * 1000 + grace,
  })
  child.stdin.end(JSON.stringify(requests))
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code !== 0)
    throw new Error(`the load generator ended with ${String(code)} while it asked ${url}`)
  const figures = JSON.parse(output)
  if (figures.failures > 0) {
    const { method = 'GET', path: first } = requests[0]
    throw new Error(
      `${figures.failures} of ${figures.asked} responses of ${url} to ${method} ${first} failed. One of them:\n` +
        figures.first_failure,
    )
  }
  return figures
}
