import { createHmac, randomBytes } from 'node:crypto'

import { createClient, type SupabaseClient } from '@supabase/supabase-js'

import { RawResponse, PendingResponse } from './raw-response.ts'
import { Absent, SetUpError, display, setUpFailed } from './difference.ts'
import { readBody } from './body.ts'
import { Assertions } from './assertions.ts'
import { Mailbox } from './mail.ts'
import { compare } from './match.ts'
import { Phoenix } from './phoenix.ts'
import { Recorder, type Exchange } from './recorder.ts'
import { handshake, recordedWebSocket, Socket } from './sockets.ts'
import type { Mutation } from './mutation.ts'
import { absentStatuses, interfaces, type Interface, type Target } from './target.ts'

/** A user that was made for a case. */
export interface User {
  id: string
  email: string
  password: string
  /** The access token. */
  token: string
  refreshToken: string
  /** A stock client with the user's session. */
  client: SupabaseClient
}

/**
 * Who asks: a role by its key, the operator by the access token, a user, a token, or nobody (no key and no token).
 */
export type Caller = 'anon' | 'service' | 'operator' | 'nobody' | User | { token: string }

/** What a raw request is made of. */
interface RequestOptions {
  /** By default `anon`; for paths below the platform's own, `operator`. */
  as?: Caller
  headers?: Record<string, string>
  /** The header `Prefer`. */
  prefer?: string
  /** The header `Accept`. */
  accept?: string
  /** Sent as it is where it is text, bytes or a form, else as JSON. */
  body?: unknown
}

/** Names that no other run of the kit uses. */
const run = randomBytes(4).toString('hex')
let counter = 0

/** How long assertions wait for what comes by itself, in milliseconds. */
const patience = 8000

/** What a case is given. */
export class Context {
  readonly assertions: Assertions
  readonly recorder: Recorder
  /** How long assertions wait for what comes by itself, in milliseconds. */
  readonly patience: number
  readonly #cleanups: (() => unknown)[] = []
  readonly #clients = new Map<string, SupabaseClient>()
  readonly #sockets: Socket[] = []

  constructor(
    readonly target: Target,
    private readonly interfaceName: Interface,
    options: { mutation?: Mutation; patience?: number } = {},
  ) {
    this.recorder = new Recorder(options.mutation ?? null)
    this.assertions = new Assertions(this.recorder)
    this.patience = options.patience ?? patience
  }

  // Who asks.

  /** Returns a stock client with the anonymous key. */
  get anon(): SupabaseClient {
    return this.#client(this.target.anonKey)
  }

  /** Returns a stock client with the service key; the case needs `service`. */
  get service(): SupabaseClient {
    return this.#client(this.target.serviceKey)
  }

  /** Makes a stock client with a key or settings of its own. */
  client(key: string, options: Parameters<typeof createClient>[2] = {}): SupabaseClient {
    const transport = recordedWebSocket(this.recorder) as unknown as typeof WebSocket
    const client = createClient(this.target.url, key, {
      ...options,
      global: { fetch: this.recorder.fetch, ...options.global },
      auth: { persistSession: false, autoRefreshToken: false, ...options.auth },
      realtime: { transport, ...options.realtime },
    })
    this.after(() => client.realtime.disconnect())
    return client as SupabaseClient
  }

  /** Makes a confirmed user who is signed in, and removes it after the case; the case needs `service`. */
  async user(attributes: Record<string, unknown> = {}): Promise<User> {
    const email = `${this.unique('user')}@example.com`
    const password = randomBytes(12).toString('base64url')
    const wanted = { email, password, email_confirm: true, ...attributes }
    const { id } = await this.prepare('POST', '/auth/v1/admin/users', wanted)
    this.after(() => this.discard(`/auth/v1/admin/users/${String(id)}`))
    const path = '/auth/v1/token?grant_type=password'
    const session = await this.prepare('POST', path, {
      email: wanted.email,
      password: wanted.password,
    })
    // A session that lies in the client's storage costs no request of its own.
    const key = 'session'
    const stored = new Map([[key, JSON.stringify(session)]])
    const client = this.client(this.target.anonKey, {
      auth: {
        storageKey: key,
        persistSession: true,
        storage: {
          getItem: (name) => stored.get(name) ?? null,
          setItem: (name, value) => void stored.set(name, value),
          removeItem: (name) => void stored.delete(name),
        },
      },
    })
    return {
      id: String(id),
      email: wanted.email,
      password: wanted.password,
      token: String(session.access_token),
      refreshToken: String(session.refresh_token),
      client,
    }
  }

  /** Returns a token with these claims, signed with the server's secret; the case needs `jwt`. */
  sign(claims: Record<string, unknown>, header: Record<string, unknown> = {}): string {
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const text = `${part({ alg: 'HS256', typ: 'JWT', ...header })}.${part(claims)}`
    const seal = createHmac('sha256', this.target.jwtSecret).update(text).digest('base64url')
    return `${text}.${seal}`
  }

  // Raw requests. Paths are below the interface's own, /rest/v1 in cases of REST; from a slash on they are whole.

  /** Sends a request; redirects are not followed. */
  http(method: string, path: string, options: RequestOptions = {}): PendingResponse {
    return PendingResponse.of(this.#send(this.recorder.fetch, method, path, options))
  }

  get(path: string, options?: RequestOptions): PendingResponse {
    return this.http('GET', path, options)
  }

  head(path: string, options?: RequestOptions): PendingResponse {
    return this.http('HEAD', path, options)
  }

  post(path: string, body?: unknown, options?: RequestOptions): PendingResponse {
    return this.http('POST', path, { ...options, body })
  }

  put(path: string, body?: unknown, options?: RequestOptions): PendingResponse {
    return this.http('PUT', path, { ...options, body })
  }

  patch(path: string, body?: unknown, options?: RequestOptions): PendingResponse {
    return this.http('PATCH', path, { ...options, body })
  }

  delete(path: string, options?: RequestOptions): PendingResponse {
    return this.http('DELETE', path, options)
  }

  /** Opens a WebSocket at `path` with the caller's key in the query; a refused handshake fails the case. */
  async socket(path: string, headers: Record<string, string> = {}): Promise<Socket> {
    const socket = await Socket.open(this.#socketUrl(path), headers, this)
    this.#sockets.push(socket)
    return socket
  }

  /** Asks for a WebSocket where a refusal is expected; a socket that opens has the status 101. */
  handshake(path: string, headers: Record<string, string> = {}): PendingResponse {
    const exchange = handshake(this.#socketUrl(path), headers, this.recorder)
    return PendingResponse.of(exchange.then((done) => new RawResponse(done, this.assertions)))
  }

  /** Opens a socket of Realtime that speaks in frames, by default as `anon` in version 2 of the protocol. */
  async phoenix({
    as = 'anon',
    vsn = '2.0.0',
  }: { as?: Caller; vsn?: string } = {}): Promise<Phoenix> {
    const query = new URLSearchParams({ apikey: this.#keys(as).apikey ?? '', vsn })
    return new Phoenix(await this.socket(`/realtime/v1/websocket?${query.toString()}`), vsn)
  }

  // What a case needs beside the server's responses.

  /** Returns a name that is used once: `conformance_`, the run, a number, and `name`. */
  unique(name: string): string {
    counter += 1
    return `conformance_${run}_${counter}_${name}`
  }

  /** Calls `cleanup` when the case is over, whatever its outcome; the last registered first. */
  after(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup)
  }

  /** Inserts rows with the service key, and removes them after the case. Their table must have the key `column`. */
  async rows<T extends object>(table: string, rows: T[], column: keyof T & string): Promise<void> {
    const keys = rows.map((row) => `"${String(row[column])}"`).join(',')
    this.after(() => this.discard(`/rest/v1/${table}?${column}=in.(${encodeURIComponent(keys)})`))
    await this.prepare('POST', `/rest/v1/${table}`, rows)
  }

  /** Registers the rows of `table` whose `column` is `value` for removal after the case. */
  removesRows(table: string, column: string, value: string): void {
    this.after(() => this.discard(`/rest/v1/${table}?${column}=eq.${encodeURIComponent(value)}`))
  }

  /** Makes a bucket, and removes it with its objects after the case. */
  async bucket(attributes: Record<string, unknown> = {}): Promise<string> {
    const id = this.unique('bucket').replaceAll('_', '-')
    this.removesBucket(id)
    await this.prepare('POST', '/storage/v1/bucket', { id, name: id, public: false, ...attributes })
    return id
  }

  /** Registers a bucket for removal after the case, with its objects. */
  removesBucket(id: string): void {
    this.after(async () => {
      await this.#send(fetch, 'POST', `/storage/v1/bucket/${id}/empty`, { as: 'service', body: {} })
      await this.#send(fetch, 'DELETE', `/storage/v1/bucket/${id}`, { as: 'service', body: {} })
    })
  }

  /** Returns the mails to an address; the case needs `mail`. */
  mails(address: string): Mailbox {
    return new Mailbox(this.target.mailUrl, address, this.patience)
  }

  /**
   * Sends a request of the set-up, with the service key; as the operator for paths below the platform's own. It is not
   * checked, and where it fails the case is not tried.
   */
  async prepare(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const as = this.#byDefault(path, 'service')
    const { exchange, json } = await this.#send(fetch, method, path, { as, body }).catch(
      (error: unknown) => {
        throw new SetUpError(`${method} ${path} failed: ${display(error)}`)
      },
    )
    if (exchange.status < 400) return (json ?? {}) as Record<string, unknown>
    const text = new TextDecoder().decode(exchange.body)
    throw new SetUpError(
      `${setUpFailed}: ${method} ${path} responded with ${exchange.status} ${text}`,
    )
  }

  /** Deletes what the set-up has made; what is gone already is no matter. */
  async discard(path: string): Promise<void> {
    await this.#send(fetch, 'DELETE', path, { as: this.#byDefault(path, 'service') })
  }

  // Assertions on what client libraries return.

  /**
   * Checks that a value is as promised. It is taken as made of the newest exchange, or of `of`; give that where the
   * case has sent something else meanwhile.
   */
  equal(got: unknown, expected: unknown, of: Exchange | null = this.recorder.last): void {
    this.assertions.value(of, got, expected)
  }

  /** Checks that a client's result is a success with this data. */
  data(result: { data: unknown; error: unknown }, expected: unknown): void {
    this.ok(result)
    this.equal(result.data, expected)
  }

  /** Checks that a client's result is this refusal. */
  error(result: { error: unknown }, expected: unknown): void {
    this.equal(result.error, expected)
  }

  /** Checks that a client's result is a success, whatever its data. */
  ok(result: { error: unknown }): void {
    this.assertions.success(this.response().exchange, result.error)
  }

  /** Checks that a client's result counts so many rows: the header `Content-Range`. */
  count(result: { count: number | null }, expected: number): void {
    this.assertions.count(this.response().exchange, result.count, expected)
  }

  /** Returns the newest exchange as a raw response: to check a header that the client library does not tell. */
  response(): RawResponse {
    if (!this.recorder.last) throw new Error('nothing has been asked yet')
    return new RawResponse(this.recorder.last, this.assertions)
  }

  /** Waits until what a client's sockets have delivered is as promised. */
  async eventually(got: () => unknown, expected: unknown): Promise<void> {
    const end = performance.now() + this.patience
    while (compare(expected, got()).mismatch !== null && performance.now() < end) {
      await this.pause(20)
    }
    this.assertions.messages(got(), expected)
  }

  /** Ends the case: the server does not have the feature. */
  absent(reason: string): never {
    throw new Absent(reason)
  }

  /** Ends the case or the probe where a server's response says that it does not have the feature. */
  present({ exchange }: RawResponse): void {
    const { method, url, status } = exchange
    if (absentStatuses.includes(status)) {
      this.absent(`${method} ${new URL(url).pathname} responded with ${status}`)
    }
  }

  /** Waits. */
  pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => setTimeout(resolve, milliseconds))
  }

  /** Ends everything that the case has begun, and undoes what it has made. */
  async end(): Promise<void> {
    for (const socket of this.#sockets) socket.close()
    this.recorder.abort()
    for (const cleanup of this.#cleanups.reverse()) {
      try {
        await cleanup()
      } catch {
        // The next one is still to be undone, and the case has its outcome.
      }
    }
  }

  #client(key: string): SupabaseClient {
    const known = this.#clients.get(key)
    if (known) return known
    const client = this.client(key)
    this.#clients.set(key, client)
    return client
  }

  async #send(
    send: typeof fetch,
    method: string,
    path: string,
    options: RequestOptions,
  ): Promise<RawResponse> {
    const { as = this.#byDefault(path, 'anon'), prefer, accept, body } = options
    const json = body !== undefined && !isRaw(body)
    const headers = {
      ...this.#keys(as),
      ...(json ? { 'content-type': 'application/json' } : {}),
      ...(prefer === undefined ? {} : { prefer }),
      ...(accept === undefined ? {} : { accept }),
      ...options.headers,
    }
    const init: RequestInit = { method, headers, redirect: 'manual' }
    if (body !== undefined) init.body = isRaw(body) ? body : JSON.stringify(body)
    const count = this.recorder.exchanges.length
    const response = await send(this.#url(path), init)
    const bytes = await readBody(response)
    const recorded = send === this.recorder.fetch ? this.recorder.exchanges[count] : undefined
    const exchange = recorded ?? {
      ...{ ordinal: -1, method, url: this.#url(path), requestHeaders: {}, requestBody: '' },
      ...{ status: response.status, headers: response.headers, body: bytes, pieces: [] },
    }
    return new RawResponse(exchange, this.assertions)
  }

  #keys(as: Caller): Record<string, string> {
    if (as === 'nobody') return {}
    const { anonKey, serviceKey, platform } = this.target
    if (as === 'operator') return { authorization: `Bearer ${platform?.accessToken ?? ''}` }
    const key = as === 'service' ? serviceKey : anonKey
    const token = typeof as === 'object' ? as.token : key
    // Keys that are no tokens are not sent as tokens.
    if (token.startsWith('sb_')) return { apikey: key }
    return { apikey: key, authorization: `Bearer ${token}` }
  }

  /** Returns who sends a request to `path`, unless the case says otherwise; the access token goes to the platform only. */
  #byDefault(path: string, otherwise: Caller): Caller {
    const isOwn = this.interfaceName === 'platform' && !/^(https?:|\/)/.test(path)
    return isOwn ? 'operator' : otherwise
  }

  #url(path: string): string {
    if (/^https?:/.test(path)) return path
    if (path.startsWith('/')) return `${this.target.url}${path}`
    const { url, platform } = this.target
    const base = this.interfaceName === 'platform' ? (platform?.url ?? url) : url
    return `${base}${interfaces[this.interfaceName].path}/${path}`
  }

  #socketUrl(path: string): string {
    return this.#url(path).replace(/^http/, 'ws')
  }
}

function isRaw(
  body: unknown,
): body is string | Uint8Array<ArrayBuffer> | FormData | URLSearchParams {
  return (
    typeof body === 'string' ||
    body instanceof Uint8Array ||
    body instanceof FormData ||
    body instanceof URLSearchParams
  )
}
