import { readBody, sizeLimit } from './body.ts'
import { isMessageMutation, mutateResponse, type Mutation } from './mutation.ts'

/** One request of a case and its response. */
export interface Exchange {
  /** Its number among the case's exchanges, from 0. */
  ordinal: number
  method: string
  url: string
  requestHeaders: Record<string, string>
  requestBody: string
  /** 0 while there is no response. */
  status: number
  headers: Headers
  body: Uint8Array
  /** When each piece of the body came, in milliseconds after the request. */
  pieces: number[]
}

/** One message of a WebSocket. */
export interface Message {
  direction: 'sent' | 'received'
  /** What finds the same message in another run of the case. */
  key: string
  text: string
  /** The message as JSON, where it is text. */
  document: unknown
}

/** The most messages of a case that are kept. */
const messageLimit = 500

/**
 * Everything that one run of a case sends and receives. It is the kit's proxy: clients see the responses that it hands
 * on, and where it has a mutation, one of them is not what the server sent.
 */
export class Recorder {
  readonly exchanges: Exchange[] = []
  readonly messages: Message[] = []
  /** Whether the response or message to be mutated has been received. */
  isMutated = false
  readonly #keys = new Map<string, number>()
  #sockets = 0
  readonly #end = new AbortController()

  constructor(readonly mutation: Mutation | null = null) {}

  /** Ends all requests that are under way. */
  abort(): void {
    this.#end.abort(new Error('the case is over'))
  }

  /** Records a request and its response; clients call it as `fetch`. */
  readonly fetch = async (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init)
    const exchange = this.begin(request, typeof init?.body === 'string' ? init.body : '')
    if (exchange.requestBody === '' && init?.body) exchange.requestBody = '(binary)'
    const signals = [this.#end.signal, ...(init?.signal ? [init.signal] : [])]
    const begin = performance.now()
    // No interface redirects its clients, and a server must not send requests elsewhere from this machine.
    const redirect = init?.redirect === 'manual' ? 'manual' : 'error'
    const response = await fetch(input, { ...init, redirect, signal: AbortSignal.any(signals) })
    exchange.status = response.status
    exchange.headers = response.headers
    if (response.headers.get('content-type')?.startsWith('text/event-stream') && response.body) {
      return this.#stream(exchange, response.body)
    }
    exchange.body = await readBody(response, () => exchange.pieces.push(performance.now() - begin))
    this.receive(exchange)
    return toResponse(exchange, exchange.body)
  }

  /** Returns the newest exchange that has a response. */
  get last(): Exchange | null {
    return this.exchanges.findLast(({ status }) => status !== 0) ?? null
  }

  /** Gives a new socket its name in the keys of messages. */
  countSocket(): string {
    this.#sockets += 1
    return `socket ${this.#sockets}:`
  }

  /** Notes a message, and gives it the key by which another run finds it. */
  note(direction: Message['direction'], name: string, text: string, document: unknown): Message {
    const count = (this.#keys.get(`${direction} ${name}`) ?? 0) + 1
    this.#keys.set(`${direction} ${name}`, count)
    const message = { direction, key: `${name} #${count}`, text, document }
    if (this.messages.length < messageLimit) this.messages.push(message)
    return message
  }

  /** Notes a request that is about to be sent. */
  begin(
    request: { method: string; url: string; headers: Iterable<[string, string]> },
    requestBody: string,
  ): Exchange {
    const exchange: Exchange = {
      ordinal: this.exchanges.length,
      method: request.method,
      url: request.url,
      requestHeaders: Object.fromEntries(request.headers),
      requestBody,
      status: 0,
      headers: new Headers(),
      body: new Uint8Array(),
      pieces: [],
    }
    this.exchanges.push(exchange)
    return exchange
  }

  /** Changes what was received, where this is the response to mutate. */
  receive(exchange: Exchange): void {
    const { mutation } = this
    if (mutation === null || isMessageMutation(mutation) || mutation.ordinal !== exchange.ordinal)
      return
    const response = mutateResponse(mutation, exchange)
    if (response === null) return
    this.isMutated = true
    Object.assign(exchange, response)
  }

  /** Hands on a stream of events as it comes; its status and headers can be mutated, and each piece of its body. */
  #stream(exchange: Exchange, body: ReadableStream<Uint8Array>): Response {
    const { mutation } = this
    const isMine =
      mutation !== null && !isMessageMutation(mutation) && mutation.ordinal === exchange.ordinal
    const isBody = isMine && (mutation.kind === 'body' || mutation.kind === 'field')
    if (!isBody) this.receive(exchange)
    const passed = new TransformStream<Uint8Array, Uint8Array>({
      transform: (piece, controller) => {
        const handed = isBody
          ? piece.map((byte) => (byte > 96 && byte < 122 ? byte + 1 : byte))
          : piece
        if (isBody) this.isMutated = true
        if (exchange.body.length + handed.length > sizeLimit) {
          controller.error(new Error(`the response has more than ${sizeLimit} bytes`))
          return
        }
        exchange.body = new Uint8Array(Buffer.concat([exchange.body, handed]))
        exchange.pieces.push(performance.now())
        controller.enqueue(handed)
      },
    })
    return new Response(body.pipeThrough(passed), {
      status: exchange.status,
      headers: exchange.headers,
    })
  }
}

/** Returns the response as clients are given it. */
function toResponse({ status, headers }: Exchange, body: Uint8Array): Response {
  const handed = new Headers(headers)
  // The body is here in full and decoded.
  handed.delete('content-encoding')
  const empty = status === 204 || status === 205 || status === 304
  return new Response(empty ? null : new Uint8Array(body), { status, headers: handed })
}
