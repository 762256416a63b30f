import { createConnection, createServer } from 'node:net'
import path from 'node:path'

/**
 * A statement as a server sent it.
 * @typedef {{ sql: string, parameters: (string | null)[] }} Statement
 */

/** Codes of what a client may send before its user's name. Source: PostgreSQL's documentation, "Message Formats". */
const STARTUP = 196608

/** A proxy between a server and Postgres that records the statements of the server. */
export class Recorder {
  /** @type {Statement[] | undefined} */
  #noted
  #server
  #user

  /**
   * Listens for connections and passes them on to `database`.
   * @param {import('./postgres.mjs').Postgres} database
   * @param {string} user whose statements are noted
   */
  static async start(database, user) {
    const { folder, port } = database.connection
    const socket = path.join(folder, `.s.PGSQL.${port}`)
    const server = createServer((client) => recorder.#pass(client, createConnection(socket)))
    const recorder = new Recorder(server, user)
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
    /** The database's URI by way of this recorder. Holds the password. */
    const { user: name, password, name: database_ } = database.connection
    recorder.uri = `postgresql://${name}:${encodeURIComponent(password)}@127.0.0.1:${server.address().port}/${database_}?sslmode=disable`
    return recorder
  }

  constructor(server, user) {
    this.#server = server
    this.#user = user
  }

  /**
   * Returns the statements that are run while `work` is done, in their order.
   * @param {() => Promise<unknown>} work
   * @returns {Promise<Statement[]>}
   */
  async during(work) {
    const noted = (this.#noted = [])
    await work()
    this.#noted = undefined
    return noted
  }

  async stop() {
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #pass(client, upstream) {
    const reader = new Messages()
    const prepared = new Map()
    let user = ''
    client.on('data', (chunk) => {
      upstream.write(chunk)
      for (const message of reader.read(chunk)) {
        if (message.type === '') user ||= userIn(message.body)
        else if (user === this.#user) this.#note(message, prepared)
      }
    })
    upstream.on('data', (chunk) => client.write(chunk))
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ]) {
      one.on('close', () => other.destroy())
      one.on('error', () => other.destroy())
    }
  }

  #note({ type, body }, prepared) {
    if (type === 'P') {
      const [name, sql] = texts(body)
      prepared.set(name, sql)
    } else if (type === 'B') {
      const [portal, name] = texts(body)
      const values = body.subarray(Buffer.byteLength(portal) + Buffer.byteLength(name) + 2)
      this.#noted?.push({ sql: prepared.get(name) ?? '', parameters: parameters(values) })
    } else if (type === 'Q') {
      this.#noted?.push({ sql: texts(body)[0], parameters: [] })
    }
  }
}

/** Splits the client's bytes into messages. */
class Messages {
  #rest = Buffer.alloc(0)
  #hasStarted = false

  /** Returns the messages that `chunk` completes. */
  read(chunk) {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const messages = []
    for (;;) {
      const head = this.#hasStarted ? 1 : 0
      if (this.#rest.length < head + 4) return messages
      const end = head + this.#rest.readUInt32BE(head)
      if (this.#rest.length < end) return messages
      const type = this.#rest.toString('latin1', 0, head)
      const body = this.#rest.subarray(head + 4, end)
      this.#rest = this.#rest.subarray(end)
      this.#hasStarted ||= body.readUInt32BE(0) === STARTUP
      messages.push({ type, body })
    }
  }
}

/** Returns the texts at the beginning of a message's body: each ends with a zero byte. */
function texts(body) {
  return body.toString().split('\0')
}

function userIn(startup) {
  const pairs = texts(startup.subarray(4))
  return pairs[pairs.indexOf('user') + 1] ?? ''
}

/** Returns the values of a Bind message, all of which must be texts. */
function parameters(body) {
  const formats = body.readUInt16BE(0)
  const codes = Array.from({ length: formats }, (_, index) => body.readUInt16BE(2 + 2 * index))
  if (codes.some((code) => code !== 0))
    throw new Error('expected parameters as texts, found binary ones')
  let at = 2 + 2 * formats
  const count = body.readUInt16BE(at)
  at += 2
  return Array.from({ length: count }, () => {
    const length = body.readInt32BE(at)
    at += 4 + Math.max(length, 0)
    return length < 0 ? null : body.toString('utf8', at - length, at)
  })
}
