import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import net from 'node:net'

/** A NATS server of one's own. */
export class Nats {
  #process: ChildProcess | undefined

  private constructor(readonly port: number) {}

  /** Starts one on a free port. */
  static async start(): Promise<Nats> {
    const probe = net.createServer().listen(0, '127.0.0.1')
    await once(probe, 'listening')
    const { port } = probe.address() as net.AddressInfo
    probe.close()
    await once(probe, 'close')
    const nats = new Nats(port)
    await nats.resume()
    return nats
  }

  get url(): string {
    return `nats://127.0.0.1:${String(this.port)}`
  }

  /** Starts it again on the same port. */
  async resume(): Promise<void> {
    const path = `${process.env.PATH ?? ''}:/usr/sbin`
    const server = spawn('nats-server', ['-a', '127.0.0.1', '-p', String(this.port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, PATH: path },
    })
    this.#process = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.once('exit', () => {
        reject(new Error('nats-server ended'))
      })
      server.stderr.on('data', (text: Buffer) => {
        if (text.includes('Server is ready')) resolve()
      })
    })
  }

  /** Kills it. */
  async stop(): Promise<void> {
    const server = this.#process
    if (server?.exitCode !== null || server.signalCode !== null) return
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
  }
}
