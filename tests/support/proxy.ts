import { once } from 'node:events'
import net from 'node:net'

/** Passes connections on, until they are cut. */
export class Proxy {
  /** How many connections there have been. */
  connections = 0
  #server = net.createServer((client) => {
    this.connections += 1
    const behind = net.connect(this.port, '127.0.0.1')
    for (const [from, to] of [
      [client, behind],
      [behind, client],
    ] as const) {
      this.#sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        to.destroy()
        this.#sockets.delete(from)
      })
    }
  })
  #sockets = new Set<net.Socket>()
  /** Where connections go. */
  port: number

  constructor(port: number) {
    this.port = port
  }

  async listen() {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return (this.#server.address() as net.AddressInfo).port
  }

  /** Breaks all connections. */
  cut() {
    for (const socket of this.#sockets) socket.destroy()
  }

  stop() {
    this.#server.close()
    this.cut()
  }
}
