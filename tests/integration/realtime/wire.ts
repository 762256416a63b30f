import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'

import { inject } from 'vitest'
import WebSocket, { type RawData } from 'ws'

/** The kinds of binary frames: the first byte. */
export const PUSH = 0
const REPLY = 1
export const BROADCAST = 2
export const USER_BROADCAST_PUSH = 3
export const USER_BROADCAST = 4

/** How the payload of a user's broadcast is to be read. */
export const BYTES = 0
export const JSON_TEXT = 1

/** The longest that tests wait for what has to come, in milliseconds. Much else may run on the machine. */
const LONG = 20_000

/** The versions of the protocol. */
export const VERSIONS = ['1.0.0', '2.0.0'] as const

/** What the server sent, whatever the version. */
export interface Frame {
  /** The kind of a binary frame; `text` for others. */
  kind: number | 'text'
  joinRef: unknown
  ref: unknown
  topic: string
  /** For a broadcast in binary, the user's event; for a binary reply, its status. */
  event: string
  /** JSON as a value, and bytes as such. */
  payload: unknown
  /** The metadata of a binary broadcast; empty without any. */
  metadata: string
  /** The frame, as it came. */
  raw: Buffer
}

/** The parts of a join beside its configuration. */
export interface Join {
  /** The token of the channel. */
  token?: string
  ref?: string
  joinRef?: string
}

interface SocketOptions {
  url?: string
  key?: string
  vsn?: string
  headers?: Record<string, string>
  query?: Record<string, string>
}

/** Returns the URL of a socket. */
function socketUrl({ url, key, vsn, query = {} }: SocketOptions): string {
  const address = new URL(`${url ?? inject('access').url}/realtime/v1/websocket`)
  address.protocol = address.protocol.replace('http', 'ws')
  if (key !== undefined) address.searchParams.set('apikey', key)
  if (vsn !== undefined) address.searchParams.set('vsn', vsn)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  return address.href
}

/** What a handshake is refused with. */
interface Refusal {
  status: number
  type: string | undefined
  body: unknown
}

/** Makes a handshake without any key but what `options` names, and returns its refusal. */
export async function handshakeRefusal(options: SocketOptions): Promise<Refusal> {
  const socket = new WebSocket(socketUrl(options), { headers: options.headers })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    socket.on('unexpected-response', (_, refusal) => resolve(refusal))
    socket.on('open', () => {
      socket.terminate()
      reject(new Error('the handshake was accepted'))
    })
    socket.on('error', reject)
  })
  const body: unknown = JSON.parse(await text(response))
  return { status: response.statusCode ?? 0, type: response.headers['content-type'], body }
}

/** A raw socket: tests see each frame that is sent and received. */
export class Wire {
  /** Received frames that no test has taken yet. */
  readonly received: Frame[] = []
  /** Why the server closed it. */
  closed: { code: number; reason: string } | null = null
  private readonly waiting = new Set<() => void>()
  private refs = 0

  private constructor(
    readonly socket: WebSocket,
    readonly vsn: string,
  ) {
    socket.on('message', (data, isBinary) => {
      const frames = isBinary ? fromBinary(data) : fromText(data)
      this.received.push(frames)
      for (const wake of this.waiting) wake()
    })
    socket.on('close', (code, reason) => {
      this.closed = { code, reason: reason.toString() }
      for (const wake of this.waiting) wake()
    })
    socket.on('error', () => undefined)
  }

  /** Opens a socket of version 2.0.0 with the publishable key, unless `options` says otherwise. */
  static async open(options: SocketOptions = {}): Promise<Wire> {
    const key = options.key ?? (options.url === undefined ? inject('access').anonKey : undefined)
    const { vsn = '2.0.0', headers } = options
    const socket = new WebSocket(socketUrl({ ...options, key, vsn }), { headers })
    const wire = new Wire(socket, vsn)
    await once(socket, 'open')
    return wire
  }

  /** Opens a socket whose URL has nothing but what `options` names. */
  static async openPlainly(options: SocketOptions): Promise<Wire> {
    const socket = new WebSocket(socketUrl(options), { headers: options.headers })
    const wire = new Wire(socket, options.vsn ?? '1.0.0')
    await once(socket, 'open')
    return wire
  }

  /** Returns a reference that this socket has not used before. */
  ref(): string {
    return String(++this.refs)
  }

  /** Sends a frame of text and returns its reference. */
  send(
    topic: string,
    event: string,
    payload: unknown,
    { ref = this.ref(), joinRef = null as string | null } = {},
  ): string {
    this.text(
      this.vsn === '2.0.0'
        ? [joinRef, ref, topic, event, payload]
        : { topic, event, payload, ref, join_ref: joinRef },
    )
    return ref
  }

  /** Sends any value as JSON. */
  text(value: unknown): void {
    this.socket.send(JSON.stringify(value))
  }

  /** Sends a broadcast as stock clients do, and returns its reference. */
  binary(name: string, event: string, payload: unknown, joinRef = '', metadata = ''): string {
    const ref = this.ref()
    const isBytes = payload instanceof Uint8Array
    const content = isBytes ? payload : Buffer.from(JSON.stringify(payload))
    const strings = [joinRef, ref, `realtime:${name}`, event, metadata]
    this.socket.send(binaryFrame(3, strings, content, isBytes ? BYTES : JSON_TEXT))
    return ref
  }

  /** Sends a broadcast as text, and returns its reference. */
  broadcast(name: string, event: string, payload: unknown): string {
    return this.send(`realtime:${name}`, 'broadcast', { type: 'broadcast', event, payload })
  }

  /** Takes the first frame that matches, once it is there. */
  async take(matches: (frame: Frame) => boolean, what: string, within = LONG): Promise<Frame> {
    let found: Frame | undefined
    const isThere = () => {
      const index = this.received.findIndex(matches)
      if (index >= 0) [found] = this.received.splice(index, 1)
      return index >= 0
    }
    await this.until(isThere, what, within)
    if (found === undefined) throw new Error(`there is no ${what}`)
    return found
  }

  /** Waits until `holds`; fails once the server has closed the socket, or time is up. */
  private async until(holds: () => boolean, what: string, within: number): Promise<void> {
    if (holds()) return
    await new Promise<void>((resolve, reject) => {
      const end = (act: () => void) => {
        clearTimeout(timer)
        this.waiting.delete(look)
        act()
      }
      const give = (why: string) =>
        end(() => {
          const records = this.received.map(({ raw, kind }) => `${String(kind)}: ${raw.toString()}`)
          reject(new Error(`no ${what}: ${why}. Received:\n${records.join('\n').slice(0, 4000)}`))
        })
      const look = () => {
        if (holds()) end(resolve)
        else if (this.closed !== null) give(`the socket was closed with ${this.closed.code}`)
      }
      const timer = setTimeout(() => give(`waited for ${within} ms`), within)
      this.waiting.add(look)
      if (this.closed !== null) look()
    })
  }

  /** Takes the reply to `ref`, and returns its payload. */
  async reply(ref: unknown, within?: number): Promise<unknown> {
    const isReply = (frame: Frame) => frame.event === 'phx_reply' && frame.ref === ref
    return (await this.take(isReply, `reply to ${String(ref)}`, within)).payload
  }

  /** Takes the next frame of that event on the topic of that name. */
  event(name: string, event: string, within?: number): Promise<Frame> {
    const isIt = (frame: Frame) => frame.topic === `realtime:${name}` && frame.event === event
    return this.take(isIt, `${event} on ${name}`, within)
  }

  /** Takes the next system message of the channel, and returns its payload. */
  async system(name: string, within?: number): Promise<unknown> {
    return (await this.event(name, 'system', within)).payload
  }

  /** Takes the next broadcast of that event that came as text, and returns its payload. */
  async receiveBroadcast(name: string, event: string, within?: number): Promise<unknown> {
    const isIt = ({ topic, event: outer, payload, kind }: Frame) =>
      kind === 'text' &&
      topic === `realtime:${name}` &&
      outer === 'broadcast' &&
      (payload as { event?: unknown } | null)?.event === event
    return (await this.take(isIt, `broadcast ${event} on ${name}`, within)).payload
  }

  /** Takes the next broadcast of that event that came in binary. */
  receiveBinaryBroadcast(name: string, event: string, within?: number): Promise<Frame> {
    const isIt = (frame: Frame) =>
      frame.kind === USER_BROADCAST && frame.topic === `realtime:${name}` && frame.event === event
    return this.take(isIt, `binary broadcast ${event} on ${name}`, within)
  }

  /** Joins a topic and returns the reply's payload. */
  async join(name: string, config: unknown = {}, join: Join = {}): Promise<unknown> {
    return this.reply(this.sendJoin(name, config, join))
  }

  /** Asks to join a topic and returns the request's reference. */
  sendJoin(name: string, config: unknown = {}, { token, ref, joinRef }: Join = {}): string {
    const payload = { config, ...(token === undefined ? {} : { access_token: token }) }
    const reference = ref ?? this.ref()
    const options = { ref: reference, joinRef: joinRef ?? reference }
    return this.send(`realtime:${name}`, 'phx_join', payload, options)
  }

  /** Joins a topic, which must be granted. */
  async mustJoin(name: string, config: unknown = {}, join: Join = {}): Promise<void> {
    const reply = (await this.join(name, config, join)) as { status?: string }
    if (reply.status !== 'ok') throw new Error(`no join of ${name}: ${JSON.stringify(reply)}`)
  }

  /**
   * Waits until the server has dealt with all that was sent on this socket, and what it had to send before has come.
   */
  async flush(): Promise<void> {
    await this.reply(this.send('phoenix', 'heartbeat', {}))
  }

  /** Waits until the server has closed the socket, and returns the code. */
  async closeCode(within = LONG): Promise<number> {
    await this.until(() => this.closed !== null, 'end of the socket', within).catch(() => undefined)
    if (this.closed === null) throw new Error('the socket is still open')
    return this.closed.code
  }

  /** Closes the socket, as clients should. */
  close(): void {
    this.socket.close()
  }

  /** Cuts the connection without a close frame. */
  cut(): void {
    this.socket.terminate()
  }
}

/** Makes a binary frame; `encoding` only for a user's broadcast. */
export function binaryFrame(
  kind: number,
  strings: string[],
  payload: Uint8Array | string,
  encoding?: number,
): Buffer {
  const parts = strings.map((string) => Buffer.from(string))
  const head = [kind, ...parts.map(({ length }) => length)]
  if (encoding !== undefined) head.push(encoding)
  return Buffer.concat([Buffer.from(head), ...parts, Buffer.from(payload)])
}

function bytes(data: RawData): Buffer {
  if (Array.isArray(data)) return Buffer.concat(data)
  return Buffer.isBuffer(data) ? data : Buffer.from(data)
}

function fromText(data: RawData): Frame {
  const raw = bytes(data)
  const value: unknown = JSON.parse(raw.toString())
  if (Array.isArray(value)) {
    const [joinRef, ref, topic, event, payload] = value as [
      unknown,
      unknown,
      string,
      string,
      unknown,
    ]
    return { kind: 'text', joinRef, ref, topic, event, payload, metadata: '', raw }
  }
  const { topic, event, payload, ref } = value as Frame
  return { kind: 'text', joinRef: undefined, ref, topic, event, payload, metadata: '', raw }
}

/** The number of strings at the beginning of a server's frame, by its kind. */
const STRINGS: Record<number, number> = {
  [PUSH]: 3,
  [REPLY]: 4,
  [BROADCAST]: 2,
  [USER_BROADCAST]: 3,
}

function fromBinary(data: RawData): Frame {
  const raw = bytes(data)
  const kind = raw.readUInt8(0)
  const count = STRINGS[kind] ?? 0
  let at = 1 + count + (kind === USER_BROADCAST ? 1 : 0)
  const strings: string[] = []
  for (const length of raw.subarray(1, 1 + count)) {
    strings.push(raw.toString('utf8', at, at + length))
    at += length
  }
  const content = raw.subarray(at)
  const frame = { kind, joinRef: null as unknown, ref: null as unknown, metadata: '', raw }
  const [first = '', second = '', third = '', fourth = ''] = strings
  switch (kind) {
    case PUSH:
      return { ...frame, joinRef: first, topic: second, event: third, payload: content }
    case REPLY:
      return {
        ...frame,
        joinRef: first,
        ref: second,
        topic: third,
        event: fourth,
        payload: content,
      }
    case USER_BROADCAST: {
      const payload = raw.readUInt8(1 + count) === JSON_TEXT ? parseContent(content) : content
      return { ...frame, topic: first, event: second, metadata: third, payload }
    }
    default:
      return { ...frame, topic: first, event: second, payload: content }
  }
}

/** Returns `content` parsed as JSON; the bytes themselves if it is none. */
function parseContent(content: Buffer): unknown {
  try {
    return JSON.parse(content.toString())
  } catch {
    return content
  }
}
