import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

/** The bucket of the objects. */
export const bucket = 'drill'

/** The table of the rows. */
export const tables = `
  create table if not exists public.drill (id bigint primary key, state bigint not null);
  grant all on public.drill to service_role;
  notify pgrst, 'reload schema'`

/** How long a response may take, in milliseconds. */
const responseLimit = 10_000
/** How long a writer pauses after a failure, in milliseconds. */
const rest = 250

/** Writers of each kind, with the writes of one a second. */
const crews = { row: [4, 15], object: [2, 4], user: [1, 3] }

/** Returns the bytes of an object in one of its states. */
function bytesOf(/** @type {string} */ name, /** @type {number} */ state) {
  const block = createHash('sha512').update(`${name} ${state}`).digest()
  return Buffer.concat(Array.from({ length: 20 + (state % 3) * 400 }, () => block))
}

/** Returns the state of an object with these bytes. */
export const stateOf = (/** @type {Uint8Array} */ bytes) =>
  createHash('sha256').update(bytes).digest('hex')

/** Steady writers of rows, objects and users, which note everything in a journal. */
export class Writers {
  #ended = new AbortController()
  /** @type {Promise<void>[]} */
  #crew = []
  #started = 0
  /** Milliseconds from the start to the end. */
  duration = 0

  /**
   * @param {import('../support/server.mjs').Access} access
   * @param {import('./journal.mjs').Journal} journal
   */
  constructor(access, journal) {
    this.access = access
    this.journal = journal
    /** Acknowledged writes by their kinds. @type {Record<string, number>} */
    this.counts = { row: 0, object: 0, user: 0 }
    /** When something was acknowledged last. */
    this.lastAt = 0
  }

  async start() {
    const made = await this.#send('POST', '/storage/v1/bucket', { id: bucket, name: bucket })
    if (!made) throw new Error('the bucket could not be made')
    this.#started = Date.now()
    for (const [kind, [count = 0, rate = 1]] of Object.entries(crews)) {
      for (let number = 0; number < count; number += 1) {
        this.#crew.push(this.#work(kind, number, 1000 / rate))
      }
    }
  }

  /** Waits until something that begins now has been acknowledged, for each kind. */
  async recover(limit = 120_000) {
    const begin = Date.now()
    const before = { ...this.counts }
    while (Object.entries(this.counts).some(([kind, count]) => count < (before[kind] ?? 0) + 3)) {
      if (Date.now() - begin > limit) throw new Error('nothing is acknowledged any more')
      await pause(20)
    }
    return Date.now() - begin
  }

  async stop() {
    this.#ended.abort()
    await Promise.all(this.#crew)
    this.duration = Date.now() - this.#started
  }

  /**
   * Writes, changes and removes things of one kind, one after the other.
   * @param {string} kind
   * @param {number} number the writer's
   * @param {number} interval
   */
  async #work(kind, number, interval) {
    const start = Date.now()
    /** Things that may be changed: nothing is under way on them. @type {string[]} */
    const present = []
    for (let n = 1; !this.#ended.signal.aborted; n += 1) {
      await pause(Math.max(start + n * interval - Date.now(), 1))
      const changes = n % 3 === 0 && present.length > 5
      const removes = n % 10 === 0 && present.length > 5
      const chosen = changes || removes ? present.splice((n * 7) % present.length, 1)[0] : undefined
      const id = chosen ?? `${number + 1}${String(n).padStart(7, '0')}`
      const done = await this.#write(kind, id, n, removes ? 'remove' : chosen ? 'change' : 'create')
      if (done) {
        this.counts[kind] = (this.counts[kind] ?? 0) + 1
        this.lastAt = Date.now()
        if (!removes) present.push(id)
      } else {
        // What became of it is not known, so that nothing else is done with it.
        await pause(rest)
      }
    }
  }

  /**
   * @param {string} kind
   * @param {string} id
   * @param {number} n
   * @param {'create' | 'change' | 'remove'} what
   */
  #write(kind, id, n, what) {
    const key = `${kind} ${id}`
    if (kind === 'row') {
      const state = what === 'remove' ? '' : String(n)
      return this.journal.note(key, state, () => {
        if (what === 'create') return this.#send('POST', '/rest/v1/drill', { id, state: n })
        const path = `/rest/v1/drill?id=eq.${id}`
        return what === 'remove'
          ? this.#send('DELETE', path)
          : this.#send('PATCH', path, { state: n })
      })
    }
    if (kind === 'object') {
      const path = `/storage/v1/object/${bucket}/${id}`
      if (what === 'remove') return this.journal.note(key, '', () => this.#send('DELETE', path))
      const bytes = bytesOf(id, n)
      return this.journal.note(key, stateOf(bytes), () => this.#send('POST', path, bytes))
    }
    // The id of a user follows from its number, so that it can be removed by it.
    const uuid = `00000000-0000-4000-8000-${id.padStart(12, '0')}`
    const path = '/auth/v1/admin/users'
    if (what === 'remove') {
      return this.journal.note(key, '', () => this.#send('DELETE', `${path}/${uuid}`))
    }
    const user = { email: `${id}@example.com`, email_confirm: true, user_metadata: { state: n } }
    return this.journal.note(key, String(n), () =>
      what === 'create'
        ? this.#send('POST', path, { ...user, id: uuid })
        : this.#send('PUT', `${path}/${uuid}`, { user_metadata: user.user_metadata }),
    )
  }

  /**
   * Sends a request; returns whether it was acknowledged.
   * @param {string} method
   * @param {string} path
   * @param {object | Buffer} [content]
   */
  async #send(method, path, content) {
    const { url, serviceKey } = this.access
    const isBytes = Buffer.isBuffer(content)
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        signal: AbortSignal.timeout(responseLimit),
        headers: {
          apikey: serviceKey,
          authorization: `Bearer ${serviceKey}`,
          prefer: 'return=minimal',
          ...(isBytes
            ? { 'content-type': 'application/octet-stream', 'x-upsert': 'true' }
            : content && { 'content-type': 'application/json' }),
        },
        ...(content && { body: isBytes ? new Uint8Array(content) : JSON.stringify(content) }),
      })
      const text = await response.text()
      if (response.ok) return true
      // What the server refuses says that the drill is wrong.
      if (response.status < 500) console.log(`${method} ${path}: ${response.status} ${text}`)
      return false
    } catch {
      return false
    }
  }
}
