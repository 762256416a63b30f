import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** How long a service may take to answer, in milliseconds. */
const startLimit = 90_000
/** How long it may take to end before it is killed, in milliseconds. */
const stopLimit = 10_000

/** A service of upstream, as a process. */
export class Service {
  /**
   * Starts it and waits until it answers.
   * @param {{ command: string[], folder?: string, settings: Record<string, string>, health: string }} options `health` is
   *   the URL that it answers with success once it is ready
   */
  static async start({ command, folder, settings, health }) {
    const service = new Service(command, settings, folder)
    const end = performance.now() + startLimit
    while (!(await answers(health))) {
      if (service.process.exitCode !== null || performance.now() > end) {
        await service.stop()
        throw new Error(`${command.join(' ')} did not start:\n${service.log}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    return service
  }

  /**
   * Runs a command to its end; an error where it fails.
   * @param {string[]} command
   * @param {Record<string, string>} settings
   * @param {string} [folder]
   */
  static async run(command, settings, folder) {
    const service = new Service(command, settings, folder)
    const [status] = await once(service.process, 'exit')
    if (status !== 0) throw new Error(`${command.join(' ')} failed:\n${service.log}`)
  }

  /**
   * @param {string[]} command
   * @param {Record<string, string>} settings
   * @param {string} [folder]
   */
  constructor([program = '', ...args], settings, folder) {
    // Nothing of this process's environment but what programs need anyway: settings of the machine stay out.
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings }
    this.process = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.log = ''
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream?.on('data', (chunk) => (this.log = (this.log + chunk).slice(-200_000)))
    }
  }

  async stop() {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const ended = once(this.process, 'exit')
    this.process.kill('SIGTERM')
    const timer = setTimeout(() => this.process.kill('SIGKILL'), stopLimit)
    await ended
    clearTimeout(timer)
  }
}

/** @param {string} url */
async function answers(url) {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5000) })
    await answer.arrayBuffer()
    return answer.ok
  } catch {
    return false
  }
}
