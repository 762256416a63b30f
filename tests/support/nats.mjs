import { listens, Service } from './service.mjs'

/** A NATS server on a port of 127.0.0.1. */
export class Nats extends Service {
  constructor(/** @type {number} */ port) {
    super({
      command: ['nats-server', '-a', '127.0.0.1', '-p', String(port)],
      isReady: () => listens(port),
    })
    this.url = `nats://127.0.0.1:${port}`
  }
}
