import { once } from 'node:events'
import { connect } from 'node:net'

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

/** Somebody who reaches a NATS server with its login, hears everything on it, and says what it likes. */
export class NatsPeer {
  /** @type {{ subject: string, payload: Buffer }[]} */
  heard = []
  #unread = Buffer.alloc(0)
  /** @type {import('node:net').Socket} */
  #socket

  /** @param {import('node:net').Socket} socket */
  constructor(socket) {
    this.#socket = socket
    socket.on('data', (/** @type {Buffer} */ data) => {
      this.#unread = Buffer.concat([this.#unread, data])
      while (this.#take());
    })
  }

  /** @param {Nats} nats */
  static async connect(nats) {
    const socket = connect(nats.port, '127.0.0.1')
    await once(socket, 'connect')
    const options = { user: login.user, pass: login.password, verbose: false, echo: false }
    const peer = new NatsPeer(socket)
    socket.write(`CONNECT ${JSON.stringify(options)}\r\nSUB > 1\r\n`)
    return peer
  }

  /** Takes one operation of what has come; returns whether there was a whole one. */
  #take() {
    const end = this.#unread.indexOf('\r\n')
    if (end < 0) return false
    const [operation, subject = '', ...rest] = this.#unread.subarray(0, end).toString().split(' ')
    if (operation !== 'MSG') {
      if (operation === 'PING') this.#socket.write('PONG\r\n')
      this.#unread = this.#unread.subarray(end + 2)
      return true
    }
    const start = end + 2
    const size = Number(rest.at(-1))
    if (this.#unread.length < start + size + 2) return false
    this.heard.push({ subject, payload: Buffer.from(this.#unread.subarray(start, start + size)) })
    this.#unread = this.#unread.subarray(start + size + 2)
    return true
  }

  /** Publishes a message. */
  async say(/** @type {string} */ subject, /** @type {Buffer} */ payload) {
    this.#socket.write(`PUB ${subject} ${String(payload.length)}\r\n`)
    this.#socket.write(payload)
    if (!this.#socket.write('\r\n')) await once(this.#socket, 'drain')
  }

  end() {
    this.#socket.destroy()
  }
}
