import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

import { end, forget, isRunning, track } from './programs.mjs'

/** How long a program may take until it is ready, in milliseconds. */
const startLimit = 90_000
/** How long it may take to end before it is killed, in milliseconds. */
const stopLimit = 10_000
/** How long one check of readiness may take, in milliseconds. */
const lookLimit = 5000

/**
 * How to run a program.
 * @typedef {object} Options
 * @property {string[]} command
 * @property {string} [folder] where it runs
 * @property {Record<string, string>} [settings] its environment variables
 * @property {() => Promise<boolean>} isReady whether it can be used
 * @property {number} [interval] milliseconds between two checks of that
 */

/** A program beside Basalt, as a process that can be ended and started again. */
export class Service {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process
  #options

  /** @param {Options} options */
  constructor(options) {
    this.#options = options
    /** The end of what it has written. */
    this.log = ''
  }

  /** Starts it and waits until it is ready. */
  async start() {
    const { command, isReady, interval = 50 } = this.#options
    const child = this.#spawn(command)
    this.#process = child
    track(child, () => this.stop())
    const limit = performance.now() + startLimit
    while (!(await isReady())) {
      if (!isRunning(child) || performance.now() > limit) {
        await this.stop()
        throw new Error(`${command.join(' ')} did not start:\n${this.log}`)
      }
      await pause(interval)
    }
    return this
  }

  get pid() {
    return this.#process?.pid ?? 0
  }

  /**
   * Runs another command with the same settings to its end; an error where it fails.
   * @param {string[]} command
   */
  async run(command) {
    const [status] = await once(this.#spawn(command), 'exit')
    if (status !== 0) throw new Error(`${command.join(' ')} failed:\n${this.log}`)
  }

  /**
   * Ends it.
   * @param {NodeJS.Signals} [signal]
   */
  async stop(signal = 'SIGTERM') {
    if (this.#process === undefined) return
    await end(this.#process, signal, stopLimit)
    forget(this.#process)
  }

  /** @param {string[]} command */
  #spawn([program = '', ...args]) {
    const { folder, settings } = this.#options
    // Nothing of this process's environment but what programs need anyway: settings of the machine stay out. Debian has
    // servers where not every user looks for programs.
    const env = { PATH: `${process.env.PATH}:/usr/sbin`, HOME: process.env.HOME, ...settings }
    const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    child.on('error', (error) => (this.log += String(error)))
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => (this.log = (this.log + chunk).slice(-200_000)))
    }
    return child
  }
}

/** Returns whether a URL responds with success. */
export async function responds(/** @type {string} */ url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(lookLimit) })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/** Returns whether somebody listens on a port of 127.0.0.1. */
export async function listens(/** @type {number} */ port) {
  const socket = createConnection({ host: '127.0.0.1', port, timeout: lookLimit })
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(lookLimit) })
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
