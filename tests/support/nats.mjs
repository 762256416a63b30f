import { listens, Service } from './service.mjs'

/** Who may use it. The password has characters that a URL cannot have as they are. */
const login = { user: 'basalt', password: 'p@ss/w:rd' }

/** A NATS server, which asks for a login. */
export class Nats extends Service {
  /**
   * @param {number} port
   * @param {string} [host] the address that it listens on
   */
  constructor(port, host = '127.0.0.1') {
    super({
      command: [
        'nats-server',
        '-a',
        host,
        '-p',
        String(port),
        '--user',
        login.user,
        '--pass',
        login.password,
      ],
      isReady: () => listens(port),
    })
    this.port = port
  }

  get url() {
    return this.urlAt('127.0.0.1')
  }

  /** Returns its URL for those who reach this machine at `host`. */
  urlAt(/** @type {string} */ host) {
    return `nats://${login.user}:${encodeURIComponent(login.password)}@${host}:${this.port}`
  }
}
