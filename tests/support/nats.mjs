import { listens, Service } from './service.mjs'

/** Who may use it. The password has characters that a URL cannot have as they are. */
const login = { user: 'basalt', password: 'p@ss/w:rd' }

/** A NATS server on a port of 127.0.0.1, which asks for a login. */
export class Nats extends Service {
  constructor(/** @type {number} */ port) {
    super({
      command: [
        'nats-server',
        '-a',
        '127.0.0.1',
        '-p',
        String(port),
        '--user',
        login.user,
        '--pass',
        login.password,
      ],
      isReady: () => listens(port),
    })
    this.url = `nats://${login.user}:${encodeURIComponent(login.password)}@127.0.0.1:${port}`
  }
}
