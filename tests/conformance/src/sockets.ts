import type { IncomingMessage } from 'node:http'

import WebSocket from 'ws'

import { frameOf, messageRecord, mutateData, type Frame } from './frames.ts'
import type { Assertions } from './assertions.ts'
import { display } from './difference.ts'
import { sizeLimit } from './body.ts'
import { compare, partly, type Path } from './match.ts'
import type { Exchange, Message, Recorder } from './recorder.ts'
import { isMessageMutation, type MessageMutation } from './mutation.ts'

/** Returns the class of WebSockets whose messages `recorder` notes, and mutates where it has a mutation. */
export function recordedWebSocket(recorder: Recorder): typeof WebSocket {
  return class RecordedWebSocket extends WebSocket {
    readonly #ordinal = recorder.countSocket()

    override send(...rest: unknown[]): void {
      const { name, text, document } = messageRecord(
        plain(rest[0] as string | Uint8Array | ArrayBuffer),
      )
      recorder.note('sent', `${this.#ordinal} ${name}`, text, document)
      super.send(...(rest as [string]))
    }

    override emit(event: string, ...rest: unknown[]): boolean {
      if (event !== 'message') return super.emit(event, ...rest)
      const [raw, isBinary] = rest as [Uint8Array | ArrayBuffer, boolean]
      const bytes = plain(raw)
      const data = isBinary ? bytes : new TextDecoder().decode(bytes)
      const { name, text, document } = messageRecord(data)
      const message = recorder.note('received', `${this.#ordinal} ${name}`, text, document)
      const { mutation } = recorder
      if (mutation === null || !isMessageMutation(mutation) || !applies(mutation, message)) {
        return super.emit(event, ...rest)
      }
      recorder.isMutated = true
      if (mutation.kind === 'dropped message') return true
      const changed = Buffer.from(mutateData(data, mutation.paths))
      message.text = isBinary ? `${changed.length} spoilt bytes` : changed.toString()
      try {
        // Clients that have asked for an ArrayBuffer get one.
        const handed = raw instanceof ArrayBuffer ? new Uint8Array(changed).buffer : changed
        return super.emit(event, handed, isBinary)
      } catch {
        // A client that cannot read a mutated message has not received it.
        return true
      }
    }
  }
}

/**
 * Returns whether a mutation is for this message. What the server says of a subscription comes again whenever the
 * server renews it, so all later messages of that sort are mutated, too.
 */
function applies({ key }: MessageMutation, message: Message): boolean {
  const [sort, number] = key.split(' #')
  const [otherSort, otherNumber] = message.key.split(' #')
  const isRepeated = /^socket \d+: system\b/.test(key)
  return (
    sort === otherSort &&
    (isRepeated ? Number(otherNumber) >= Number(number) : number === otherNumber)
  )
}

/** Messages come as ArrayBuffers where a client has asked for them. */
function plain<T extends string | Uint8Array>(data: T | ArrayBuffer): T | Uint8Array {
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data
}

/** How long a handshake may take, in milliseconds. */
const handshakeLimit = 10_000

/** A message that has come and that no assertion has taken yet. */
interface PendingMessage {
  data: Uint8Array | string
  frame: Frame | null
  message: Message | undefined
}

/** A WebSocket whose messages a case waits for. */
export class Socket {
  readonly #pending: PendingMessage[] = []
  readonly #closing: Promise<{ code: number; reason: string }>

  private constructor(
    protected readonly socket: WebSocket,
    private readonly recorder: Recorder,
    private readonly assertions: Assertions,
    private readonly patience: number,
  ) {
    this.#closing = new Promise((resolve) => {
      socket.on('close', (code, reason) => {
        resolve({ code, reason: reason.toString() })
      })
    })
    // A socket that breaks is closed as well, and that is what cases look at.
    socket.on('error', () => undefined)
    let waiting = 0
    socket.on('message', (raw: Buffer, isBinary) => {
      waiting += raw.length
      if (waiting > sizeLimit) {
        socket.terminate()
        return
      }
      const data = isBinary ? raw : raw.toString()
      const message = this.recorder.messages.findLast(({ direction }) => direction === 'received')
      this.#pending.push({ data, frame: frameOf(data), message })
    })
  }

  /** Opens a socket; rejects where the handshake is refused. */
  static async open(
    url: string,
    headers: Record<string, string>,
    {
      recorder,
      assertions,
      patience,
    }: { recorder: Recorder; assertions: Assertions; patience: number },
  ): Promise<Socket> {
    const Recorded = recordedWebSocket(recorder)
    const socket = new Recorded(url, {
      headers,
      handshakeTimeout: handshakeLimit,
      maxPayload: sizeLimit,
    })
    const opened = new Socket(socket, recorder, assertions, patience)
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve)
      socket.once('error', reject)
    })
    return opened
  }

  /** Sends a message as it is, or a value as JSON. */
  send(message: unknown): void {
    const raw = typeof message === 'string' || message instanceof Uint8Array
    this.socket.send(raw ? message : JSON.stringify(message))
  }

  /** Waits for a frame with these members, and takes it; a Difference where none comes in time. */
  async receives(
    members: Partial<Record<keyof Frame, unknown>>,
    limit = this.patience,
  ): Promise<Frame> {
    const expected = partly(members)
    const end = performance.now() + limit
    for (;;) {
      const at = this.#pending.findIndex(({ frame }) => compare(expected, frame).mismatch === null)
      const [taken] = at < 0 ? [] : this.#pending.splice(at, 1)
      if (taken?.frame) {
        const { leaves } = compare(expected, taken.frame)
        const exact = leaves.filter((leaf) => leaf.exact && leaf.path[0] === 'payload')
        const last = exact.at(-1) ?? leaves.findLast(({ path }) => path[0] === 'event')
        if (taken.message && last)
          this.assertions.message(taken.message, wirePaths(taken, last.path))
        this.assertions.outcome(
          { request: this.#sent(), expected: display(members), got: display(taken.frame) },
          true,
        )
        return taken.frame
      }
      if (performance.now() > end) break
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const got = this.#pending.map(({ frame, data }) => display(frame ?? data)).join('\n')
    const check = { request: this.#sent(), expected: display(members), got: got || 'no message' }
    this.assertions.outcome(check, false)
    throw new Error('not reached')
  }

  /** Waits for `time` milliseconds, in which no frame with these members may come. */
  async receivesNone(members: Partial<Record<keyof Frame, unknown>>, time = 500): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, time))
    const expected = partly(members)
    const came = this.#pending.find(({ frame }) => compare(expected, frame).mismatch === null)
    const got = came ? display(came.frame) : 'no such message'
    const check = { request: this.#sent(), expected: `no ${display(members)}`, got }
    this.assertions.outcome(check, came === undefined)
  }

  /** Waits until the server closes the socket, and judges the code. */
  async isClosed(code: number, limit = this.patience): Promise<void> {
    const late = new Promise<null>((resolve) => setTimeout(resolve, limit, null))
    const got = await Promise.race([this.#closing, late])
    const check = {
      request: this.#sent(),
      expected: `closed with ${code}`,
      got: display(got ?? 'still open'),
    }
    this.assertions.outcome(check, got?.code === code)
  }

  /** Ends the connection. */
  close(): void {
    this.socket.terminate()
  }

  #sent(): string {
    const sent = this.recorder.messages.findLast(({ direction }) => direction === 'sent')
    return sent ? display(sent.text) : `WebSocket ${this.socket.url}`
  }
}

/** Returns where a frame's member lies in the message as it came: version 2 sends arrays. */
function wirePaths({ data }: PendingMessage, path: Path): Path[] {
  const order: (string | number)[] = ['join_ref', 'ref', 'topic', 'event', 'payload']
  const [first = '', ...rest] = path
  const isArray = typeof data === 'string' && data.startsWith('[')
  return [isArray ? [order.indexOf(first), ...rest] : path]
}

/** Asks for a WebSocket where a refusal is expected; the exchange has its response, status 101 if one opens. */
export function handshake(
  url: string,
  headers: Record<string, string>,
  recorder: Recorder,
): Promise<Exchange> {
  const http = url.replace(/^ws/, 'http')
  const exchange = recorder.begin(
    { method: 'GET', url: http, headers: Object.entries(headers) },
    '',
  )
  const socket = new WebSocket(url, { headers, handshakeTimeout: handshakeLimit })
  return new Promise((resolve, reject) => {
    const done = (status: number, response: Headers, body: Uint8Array) => {
      Object.assign(exchange, { status, headers: response, body })
      recorder.receive(exchange)
      socket.terminate()
      resolve(exchange)
    }
    socket.on('error', reject)
    socket.on('open', () => {
      done(101, new Headers(), new Uint8Array())
    })
    socket.on('unexpected-response', (_request, response: IncomingMessage) => {
      const pieces: Buffer[] = []
      response.on('data', (piece: Buffer) => pieces.push(piece))
      response.on('end', () => {
        const fields = Object.entries(response.headers).map(([name, value]) => [
          name,
          String(value),
        ])
        socket.off('error', reject).on('error', () => undefined)
        done(
          response.statusCode ?? 0,
          new Headers(fields as [string, string][]),
          new Uint8Array(Buffer.concat(pieces)),
        )
      })
    })
  })
}
