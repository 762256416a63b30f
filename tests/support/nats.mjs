import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { freePort } from '../../bench/lib/ports.mjs'

/** How long it may take until it is ready, in milliseconds. */
const startLimit = 20_000

/** A NATS server of one's own. */
export class Nats {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process

  /** Starts one on a free port. */
  static async start() {
    const nats = new Nats(await freePort())
    await nats.resume()
    return nats
  }

  constructor(/** @type {number} */ port) {
    this.port = port
  }

  get url() {
    return `nats://127.0.0.1:${this.port}`
  }

  /** Starts it again on the same port. */
  async resume() {
    const server = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(this.port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` },
    })
    this.#process = server
    const late = setTimeout(() => server.kill('SIGKILL'), startLimit)
    await new Promise((resolve, reject) => {
      server.once('error', reject)
      server.once('exit', () => reject(new Error('nats-server ended')))
      server.stderr.on('data', (text) => {
        if (text.includes('Server is ready')) resolve(undefined)
      })
    }).finally(() => clearTimeout(late))
  }

  /** Kills it. */
  async stop() {
    const server = this.#process
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
  }
}
