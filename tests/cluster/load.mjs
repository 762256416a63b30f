import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** How long a response may take, in milliseconds. */
const responseLimit = 20_000
/** Connections that requests of one kind may have at the same time. */
const connections = 400
/** Bytes of an object. */
const objectSize = 4096
/** Parallel downloads when the stored objects are checked. */
const lookers = 8

/** `user` asks who the user of a token is. @typedef {'row' | 'object' | 'read' | 'download' | 'user'} Kind */

/** Requests a second. @type {Record<Kind, number>} */
const defaultRates = { row: 40, object: 10, read: 40, download: 20, user: 10 }

/**
 * The outcome of a request. Times are milliseconds of `performance.now()`.
 * @typedef {object} Outcome
 * @property {Kind} kind
 * @property {string} id of what it wrote
 * @property {number} begun
 * @property {number} ended
 * @property {number} status 0 where the connection broke
 * @property {string} retryAfter the header; empty without one
 * @property {string} text the beginning of a failure
 */

/** Rows and objects that were acknowledged but are missing. @typedef {{ rows: string[], objects: string[] }} Loss */

/** Returns the bytes of an object, which follow from its name. */
function bytesOf(/** @type {string} */ id) {
  const parts = Array.from({ length: objectSize / 64 }, (_, index) =>
    createHash('sha512').update(`${id} ${index}`).digest(),
  )
  return Buffer.concat(parts)
}

/** Steady requests of the project `notes`, none of which waits for another, and none of which is sent twice. */
export class Load {
  /** @type {Outcome[]} */
  outcomes = []
  /** @type {Set<Promise<void>>} */
  #underWay = new Set()
  /** @type {Record<Kind, Agent>} */
  #agents
  /** The access token of the user that is asked for. */
  #token = ''
  #ended = new AbortController()

  /** @param {import('../support/server.mjs').Access} access */
  constructor(access) {
    this.access = access
    const agent = () => new Agent({ keepAlive: true, maxSockets: connections })
    this.#agents = {
      row: agent(),
      object: agent(),
      read: agent(),
      download: agent(),
      user: agent(),
    }
  }

  /** Stores the object that is downloaded, signs a user up, and begins. */
  async start(rates = defaultRates) {
    await this.#expect(
      this.#send('object', '/storage/v1/object/public/page', bytesOf('page'), true),
    )
    this.#token = await this.#signUp()
    for (const kind of /** @type {Kind[]} */ (Object.keys(rates))) {
      this.#track(this.#keepOn(kind, 1000 / rates[kind]))
    }
  }

  /** Ends, and waits for the responses that are still to come. */
  async stop() {
    this.#ended.abort()
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Closes its connections. */
  close() {
    for (const agent of Object.values(this.#agents)) agent.destroy()
  }

  /**
   * Looks for everything that was acknowledged.
   * @param {import('../support/postgres.mjs').Postgres} postgres
   * @returns {Promise<Loss>}
   */
  async loss(postgres) {
    const rows = await postgres.sql('select id from public.notes')
    const present = new Set(rows.map(({ id }) => id))
    const written = this.#acknowledged('row')
    const left = this.#acknowledged('object')
    /** @type {string[]} */
    const missing = []
    const look = async () => {
      for (let id = left.pop(); id !== undefined; id = left.pop()) {
        if (!(await this.#holds(id))) missing.push(id)
      }
    }
    await Promise.all(Array.from({ length: lookers }, look))
    return { rows: written.filter((id) => !present.has(id)), objects: missing }
  }

  /** @param {Kind} kind */
  #acknowledged(kind) {
    return this.outcomes.filter((one) => one.kind === kind && isSuccess(one)).map(({ id }) => id)
  }

  /** Returns whether an object is there with its bytes. After a failure of the server it is requested again. */
  async #holds(/** @type {string} */ id) {
    const url = `${this.access.url}/storage/v1/object/private/${id}`
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const headers = { authorization: `Bearer ${this.access.serviceKey}` }
      const response = await fetch(url, { headers, signal: AbortSignal.timeout(responseLimit) })
      const body = Buffer.from(await response.arrayBuffer())
      if (response.status < 500) return response.ok && body.equals(bytesOf(id))
      await pause(250)
    }
    return false
  }

  /**
   * Begins a request every `interval` milliseconds. Requests that this process was too busy to begin follow at once.
   * @param {Kind} kind
   * @param {number} interval
   */
  async #keepOn(kind, interval) {
    const start = performance.now()
    for (let n = 0; !this.#ended.signal.aborted; n += 1) {
      await pause(Math.max(start + n * interval - performance.now(), 0))
      this.#one(kind)
    }
  }

  #one(/** @type {Kind} */ kind) {
    const id = randomUUID()
    const paths = {
      row: '/rest/v1/notes',
      object: `/storage/v1/object/private/${id}`,
      read: '/rest/v1/notes?select=id&limit=1',
      download: '/storage/v1/object/public/public/page',
      user: '/auth/v1/user',
    }
    const body =
      kind === 'row'
        ? Buffer.from(JSON.stringify({ id, body: 'load' }))
        : kind === 'object'
          ? bytesOf(id)
          : undefined
    const begun = performance.now()
    this.#track(
      this.#send(kind, paths[kind], body).then((response) => {
        this.outcomes.push({ kind, id, begun, ended: performance.now(), ...response })
      }),
    )
  }

  #track(/** @type {Promise<void>} */ work) {
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }

  /**
   * @param {Kind} kind
   * @param {string} path
   * @param {Buffer} [body]
   * @returns {Promise<{ status: number, retryAfter: string, text: string }>}
   */
  async #send(kind, path, body, overwrites = false) {
    const { url, anonKey, serviceKey } = this.access
    const key = overwrites ? serviceKey : kind === 'user' ? this.#token : anonKey
    const sent = request(`${url}${path}`, {
      method: body ? 'POST' : 'GET',
      agent: this.#agents[kind],
      signal: AbortSignal.timeout(responseLimit),
      headers: {
        apikey: anonKey,
        authorization: `Bearer ${key}`,
        'content-type': kind === 'row' ? 'application/json' : 'application/octet-stream',
        ...(overwrites ? { 'x-upsert': 'true' } : {}),
        ...(body ? { 'content-length': body.length } : {}),
      },
    })
    try {
      sent.end(body)
      const [response] = /** @type {[import('node:http').IncomingMessage]} */ (
        await once(sent, 'response')
      )
      const parts = await response.toArray()
      const { statusCode: status = 0, headers } = response
      const text = status < 400 ? '' : Buffer.concat(parts).toString().slice(0, 200)
      return { status, retryAfter: headers['retry-after'] ?? '', text }
    } catch (error) {
      return { status: 0, retryAfter: '', text: String(error) }
    }
  }

  /** @returns {Promise<string>} the access token */
  async #signUp() {
    const { url, anonKey } = this.access
    const response = await fetch(`${url}/auth/v1/signup`, {
      method: 'POST',
      headers: { apikey: anonKey, 'content-type': 'application/json' },
      body: JSON.stringify({ email: `${randomUUID()}@example.com`, password: randomUUID() }),
      signal: AbortSignal.timeout(responseLimit),
    })
    const { access_token: token } = await response.json()
    if (typeof token !== 'string') throw new Error(`expected a session, found ${response.status}`)
    return token
  }

  /** @param {Promise<{ status: number, text: string }>} sending */
  async #expect(sending) {
    const { status, text } = await sending
    if (status !== 200) throw new Error(`expected success, found ${status}: ${text}`)
  }
}

/** Returns whether a request succeeded. */
export function isSuccess(/** @type {Outcome} */ { status }) {
  return status >= 200 && status < 300
}
