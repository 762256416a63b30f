import type { Assertions } from './assertions.ts'
import { partly } from './match.ts'
import type { Exchange } from './recorder.ts'
import { parseJson } from './mutation.ts'

/** The answer to a raw request. Its assertions throw a Difference where the answer is not as promised. */
export class Answer {
  constructor(
    readonly exchange: Exchange,
    private readonly assertions: Assertions,
  ) {}

  get status(): number {
    return this.exchange.status
  }

  /** The body as JSON; undefined where it is none. What is read here is not checked. */
  get json(): unknown {
    return parseJson(this.exchange.body)
  }

  /** A member of a JSON body, to be used in a further request. What is read here is not checked. */
  field(name: string): string {
    const value = (this.json as Record<string, unknown> | undefined)?.[name]
    return typeof value === 'string' ? value : JSON.stringify(value)
  }

  /** The value of a header, to be used in a further request. What is read here is not checked. */
  headerValue(name: string): string {
    return this.exchange.headers.get(name) ?? ''
  }

  /** The status is `status` or one of them, and the JSON body is `body` to the last member. */
  is(status: number | readonly number[], body?: unknown): this {
    this.assertions.status(this.exchange, status)
    if (body !== undefined) this.assertions.json(this.exchange, body)
    return this
  }

  /** The status is `status`, and the JSON body is an object with at least these members. */
  has(status: number, members: Readonly<Record<string, unknown>>): this {
    return this.is(status, partly(members))
  }

  /** The body is this text. */
  text(status: number, expected: string | RegExp): this {
    this.assertions.status(this.exchange, status)
    this.assertions.text(this.exchange, expected)
    return this
  }

  /** The body is these bytes. */
  bytes(status: number, expected: Uint8Array): this {
    this.assertions.status(this.exchange, status)
    this.assertions.bytes(this.exchange, expected)
    return this
  }

  /** There is no body. */
  empty(status: number): this {
    this.assertions.status(this.exchange, status)
    this.assertions.empty(this.exchange)
    return this
  }

  /** The header has this value; null: it is not there. */
  header(name: string, expected: string | RegExp | null): this {
    this.assertions.header(this.exchange, name, expected)
    return this
  }
}

/** An answer under way, with the assertions of `Answer`, so that a case can be one sentence. */
export class PendingAnswer extends Promise<Answer> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** The answer that `answer` resolves to. */
  static of(answer: Promise<Answer>): PendingAnswer {
    return new PendingAnswer((resolve, reject) => {
      answer.then(resolve, reject)
    })
  }

  /** See `Answer.is`. */
  is(status: number | readonly number[], body?: unknown): PendingAnswer {
    return this.#then((answer) => answer.is(status, body))
  }

  /** See `Answer.has`. */
  has(status: number, members: Readonly<Record<string, unknown>>): PendingAnswer {
    return this.#then((answer) => answer.has(status, members))
  }

  /** See `Answer.text`. */
  text(status: number, expected: string | RegExp): PendingAnswer {
    return this.#then((answer) => answer.text(status, expected))
  }

  /** See `Answer.bytes`. */
  bytes(status: number, expected: Uint8Array): PendingAnswer {
    return this.#then((answer) => answer.bytes(status, expected))
  }

  /** See `Answer.empty`. */
  empty(status: number): PendingAnswer {
    return this.#then((answer) => answer.empty(status))
  }

  /** See `Answer.header`. */
  header(name: string, expected: string | RegExp | null): PendingAnswer {
    return this.#then((answer) => answer.header(name, expected))
  }

  #then(check: (answer: Answer) => Answer): PendingAnswer {
    return PendingAnswer.of(this.then(check))
  }
}
