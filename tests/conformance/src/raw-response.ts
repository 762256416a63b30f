import type { Assertions } from './assertions.ts'
import { partly } from './match.ts'
import type { Exchange } from './recorder.ts'
import { parseJson } from './mutation.ts'

/** The response to a raw request. Its assertions throw a Difference where the response is not as promised. */
export class RawResponse {
  constructor(
    readonly exchange: Exchange,
    private readonly assertions: Assertions,
  ) {}

  get status(): number {
    return this.exchange.status
  }

  /** Returns the body as JSON; undefined where it is none. What is read here is not checked. */
  get json(): unknown {
    return parseJson(this.exchange.body)
  }

  /** Returns a member of a JSON body, to be used in a further request. What is read here is not checked. */
  field(name: string): string {
    const value = (this.json as Record<string, unknown> | undefined)?.[name]
    return typeof value === 'string' ? value : JSON.stringify(value)
  }

  /** Returns the value of a header, to be used in a further request. What is read here is not checked. */
  headerValue(name: string): string {
    return this.exchange.headers.get(name) ?? ''
  }

  /** Checks that the status is `status` or one of them, and that the JSON body is `body` to the last member. */
  is(status: number | readonly number[], body?: unknown): this {
    this.assertions.status(this.exchange, status)
    if (body !== undefined) this.assertions.json(this.exchange, body)
    return this
  }

  /** Checks that the status is `status`, and that the JSON body is an object with at least these members. */
  has(status: number, members: Readonly<Record<string, unknown>>): this {
    return this.is(status, partly(members))
  }

  /** Checks that the body is this text. */
  text(status: number, expected: string | RegExp): this {
    this.assertions.status(this.exchange, status)
    this.assertions.text(this.exchange, expected)
    return this
  }

  /** Checks that the body is these bytes. */
  bytes(status: number, expected: Uint8Array): this {
    this.assertions.status(this.exchange, status)
    this.assertions.bytes(this.exchange, expected)
    return this
  }

  /** Checks that there is no body. */
  empty(status: number): this {
    this.assertions.status(this.exchange, status)
    this.assertions.empty(this.exchange)
    return this
  }

  /** Checks that the header has this value; null means that it is not there. */
  header(name: string, expected: string | RegExp | null): this {
    this.assertions.header(this.exchange, name, expected)
    return this
  }
}

/** A response under way, with the assertions of `RawResponse`, so that a case can be one sentence. */
export class PendingResponse extends Promise<RawResponse> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** Makes one of the promise of a response. */
  static of(response: Promise<RawResponse>): PendingResponse {
    return new PendingResponse((resolve, reject) => {
      response.then(resolve, reject)
    })
  }

  /** Does what `RawResponse.is` does. */
  is(status: number | readonly number[], body?: unknown): PendingResponse {
    return this.#then((response) => response.is(status, body))
  }

  /** Does what `RawResponse.has` does. */
  has(status: number, members: Readonly<Record<string, unknown>>): PendingResponse {
    return this.#then((response) => response.has(status, members))
  }

  /** Does what `RawResponse.text` does. */
  text(status: number, expected: string | RegExp): PendingResponse {
    return this.#then((response) => response.text(status, expected))
  }

  /** Does what `RawResponse.bytes` does. */
  bytes(status: number, expected: Uint8Array): PendingResponse {
    return this.#then((response) => response.bytes(status, expected))
  }

  /** Does what `RawResponse.empty` does. */
  empty(status: number): PendingResponse {
    return this.#then((response) => response.empty(status))
  }

  /** Does what `RawResponse.header` does. */
  header(name: string, expected: string | RegExp | null): PendingResponse {
    return this.#then((response) => response.header(name, expected))
  }

  #then(check: (response: RawResponse) => RawResponse): PendingResponse {
    return PendingResponse.of(this.then(check))
  }
}
