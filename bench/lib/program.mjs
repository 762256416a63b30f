import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

const target = process.env.CARGO_TARGET_DIR ?? path.resolve(import.meta.dirname, '../../target')

/** Returns the path of a program of the benchmarks. */
export function program(/** @type {string} */ name) {
  return path.join(target, 'dist', name)
}

/** A program that serves until it is stopped. */
export class Program {
  /** Starts a server of `bare`, which does nothing but what its arguments say. */
  static bare(...flags) {
    return Program.start(program('bare'), flags, {}, /"url":"([^"]+)"/)
  }

  /**
   * Starts a program and waits until it has written its URL, the group of `announcement`.
   * @param {string} program
   * @param {string[]} flags
   * @param {Record<string, string>} env beside the environment of this process
   * @param {RegExp} announcement
   */
  static async start(program, flags, env, announcement) {
    const child = spawn(program, flags, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    })
    const url = await new Promise((resolve, reject) => {
      let output = ''
      const read = (chunk) => {
        output += chunk
        const found = announcement.exec(output)?.[1]
        if (found !== undefined) resolve(found.replace(/\/$/, ''))
      }
      for (const stream of [child.stdout, child.stderr]) stream.on('data', read)
      child.once('error', reject)
      child.once('exit', () => reject(new Error(`${program} ended: ${output}`)))
    })
    return new Program(child, url)
  }

  constructor(child, url) {
    this.child = child
    this.pid = child.pid
    this.url = url
  }

  async stop() {
    const ended = once(this.child, 'exit')
    this.child.kill('SIGKILL')
    await ended
  }
}
