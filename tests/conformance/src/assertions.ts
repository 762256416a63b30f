import { type Check, Difference, place, display } from './difference.ts'
import { compare, type Comparison, type ComparedValue, type Path } from './match.ts'
import type { Exchange, Message, Recorder } from './recorder.ts'
import { arraysOf, leavesOf, parseJson, type ExchangeMutation, type Mutation } from './mutation.ts'

type WithoutOrdinal<T> = T extends unknown ? Omit<T, 'ordinal'> : never

/** Checks what a case has received, and keeps that for the report and for the mutations that the case has to notice. */
export class Assertions {
  readonly checks: Check[] = []
  readonly #mutations = new Map<string, Mutation>()

  constructor(private readonly recorder: Recorder) {}

  /** Returns one mutation for each thing that was checked. */
  get mutations(): Mutation[] {
    return [...this.#mutations.values()]
  }

  /** Checks the status of a response; several where each of them is as good. */
  status(exchange: Exchange, expected: number | readonly number[]): void {
    const several = [expected].flat()
    this.#add(exchange, { kind: 'status', exact: several.length === 1 })
    const fits = several.includes(exchange.status)
    this.#check(exchange, fits, `status ${several.join(' or ')}`, responseText(exchange))
  }

  /** Checks a header of a response; null means that there is none. */
  header(exchange: Exchange, name: string, expected: string | RegExp | null): void {
    this.#add(exchange, { kind: 'header', name, exact: !(expected instanceof RegExp) })
    const got = exchange.headers.get(name)
    const fits = expected instanceof RegExp ? got !== null && expected.test(got) : got === expected
    const wanted = expected === null ? 'none' : display(expected)
    this.#check(exchange, fits, `header ${name}: ${wanted}`, `${name}: ${got ?? 'none'}`)
  }

  /** Checks a count that a client library has read from the header `Content-Range`. */
  count(exchange: Exchange, got: number | null, expected: number): void {
    this.#add(exchange, { kind: 'status', exact: false })
    this.#add(exchange, { kind: 'header', name: 'content-range', exact: true })
    this.#check(exchange, got === expected, `the count ${expected}`, `the count ${String(got)}`)
  }

  /** Checks that a client library takes an exchange for a success, whatever it says. */
  success(exchange: Exchange, error: unknown): void {
    this.#add(exchange, { kind: 'status', exact: false })
    this.#check(exchange, error === null || error === undefined, 'a success', display(error))
  }

  /** Checks the body of a response as JSON. */
  json(exchange: Exchange, expected: unknown): void {
    const document = parseJson(exchange.body)
    const found = compare(expected, document)
    const leaf = pick(found.leaves)
    if (leaf) this.#add(exchange, { kind: 'field', paths: [leaf.path], exact: leaf.exact })
    this.#rows(exchange, found.rows, found.empties)
    if (!leaf && found.rows.length === 0 && found.empties.length === 0) {
      this.#add(exchange, { kind: 'body' })
    }
    this.#compared(requestText(exchange), expected, document ?? bodyText(exchange), found)
  }

  /** Checks the body of a response as text. */
  text(exchange: Exchange, expected: string | RegExp): void {
    this.#add(exchange, { kind: 'body' })
    const got = new TextDecoder().decode(exchange.body)
    const fits = expected instanceof RegExp ? expected.test(got) : got === expected
    this.#check(exchange, fits, display(expected), got === '' ? 'an empty body' : display(got))
  }

  /** Checks the body of a response byte for byte. */
  bytes(exchange: Exchange, expected: Uint8Array): void {
    this.#add(exchange, { kind: 'body' })
    const fits = Buffer.compare(expected, exchange.body) === 0
    this.#check(exchange, fits, hex(expected), hex(exchange.body))
  }

  /** Checks that there is no body. */
  empty(exchange: Exchange): void {
    if (exchange.status !== 204 && exchange.method !== 'HEAD') this.#add(exchange, { kind: 'body' })
    this.#check(exchange, exchange.body.length === 0, 'an empty body', bodyText(exchange))
  }

  /**
   * Checks a value that a client library made of an exchange: its success, and the parts of its body that the value comes
   * from, found by their values.
   */
  value(exchange: Exchange | null, got: unknown, expected: unknown): void {
    const found = compare(expected, got)
    if (exchange) {
      this.#add(exchange, { kind: 'status', exact: false })
      this.#parts(exchange, found)
    }
    this.#compared(exchange ? requestText(exchange) : 'a value', expected, got, found)
  }

  /** Checks a value that a client library made of messages of its sockets. */
  messages(got: unknown, expected: unknown): void {
    const found = compare(expected, got)
    const message = this.#source(found)
    if (message) this.message(message, message.paths)
    const last = this.recorder.messages.findLast(({ direction }) => direction === 'sent')
    this.#compared(`after ${last ? display(last.text) : 'the connection'}`, expected, got, found)
  }

  /** Checks a message as a whole: where it changes at `paths`, or is not there, the case has to notice. */
  message({ key }: Message, paths: readonly Path[]): void {
    for (const kind of ['changed message', 'dropped message'] as const) {
      this.#mutations.set(`${kind} ${key}`, { key, kind, paths })
    }
  }

  /** Keeps a check that holds. Throws a Difference where it does not. */
  outcome(check: Check, holds: boolean): void {
    if (!holds) throw new Difference(check)
    this.checks.push(check)
  }

  #parts(exchange: Exchange, found: Comparison): void {
    const document = parseJson(exchange.body)
    if (document === undefined) {
      if (exchange.body.length > 0) this.#add(exchange, { kind: 'body' })
      return
    }
    const there = leavesOf(document)
    const [leaf] = found.leaves
      .filter(({ exact, value }) => exact && there.some((one) => one.value === value))
      .sort((a, b) => weight(b) - weight(a))
    // A value that was worked out from the body has to be another one when all of the body is.
    const from = leaf ? there.filter(({ value }) => value === leaf.value) : there
    const isAnywhere = leaf?.path.includes('*') === true
    const paths = from.map(({ path }) => (isAnywhere ? anyElement(path) : path))
    if (found.empties.length > 0 || there.length === 0) this.#add(exchange, { kind: 'body' })
    else this.#add(exchange, { kind: 'field', paths, exact: true })
    const arrays = arraysOf(document)
    const rows = found.rows.flatMap((row) => {
      const index = row.at(-1)
      const array = arrays.find(({ length }) => index === '*' || length > Number(index))
      return array ? [[...array.path, row.at(-1) ?? 0]] : []
    })
    this.#rows(exchange, rows, [])
  }

  #rows(exchange: Exchange, rows: readonly Path[], empties: readonly Path[]): void {
    const [row] = rows
    const [empty] = empties
    if (row) this.#add(exchange, { kind: 'row', path: row })
    if (empty) this.#add(exchange, { kind: 'added row', path: empty })
  }

  /**
   * Returns the received message that a value comes from: the newest with its most telling part, or else the newest.
   */
  #source(found: Comparison): (Message & { paths: Path[] }) | null {
    const received = this.recorder.messages.filter(
      ({ direction, key }) => direction === 'received' && !key.includes('phoenix'),
    )
    const leaves = found.leaves.filter(({ exact }) => exact).sort((a, b) => weight(b) - weight(a))
    for (const { value } of leaves) {
      const message = received.findLast(
        ({ document, text }) =>
          leavesOf(document).some((leaf) => leaf.value === value) ||
          (document === undefined && typeof value === 'string' && text.includes(value)),
      )
      if (!message) continue
      const paths = leavesOf(message.document).filter((leaf) => leaf.value === value)
      return { ...message, paths: paths.map(({ path }) => path) }
    }
    const last = received.at(-1)
    return last ? { ...last, paths: leavesOf(last.document).map(({ path }) => path) } : null
  }

  #compared(request: string, expected: unknown, got: unknown, { mismatch }: Comparison): void {
    const check = { request, expected: display(expected), got: display(got) }
    if (mismatch === null) {
      this.checks.push(check)
      return
    }
    const at =
      mismatch.path.length > 0 ? ` (at ${place(mismatch.path)}: ${display(mismatch.got)})` : ''
    throw new Difference({ ...check, got: `${check.got}${at}` })
  }

  #check(exchange: Exchange, holds: boolean, expected: string, got: string): void {
    this.outcome({ request: requestText(exchange), expected, got }, holds)
  }

  #add({ ordinal }: Exchange, mutation: WithoutOrdinal<ExchangeMutation>): void {
    const key = `${ordinal} ${mutation.kind} ${'name' in mutation ? mutation.name : ''}`
    if (!this.#mutations.has(key)) this.#mutations.set(key, { ordinal, ...mutation })
  }
}

/** Returns the same place in each element of the arrays on its way. */
function anyElement(path: Path): Path {
  return path.map((step) => (typeof step === 'number' ? '*' : step))
}

/** Returns a request as a report shows it. */
export function requestText({ method, url, requestHeaders, requestBody }: Exchange): string {
  const headers = Object.entries(requestHeaders).map(([name, value]) => `${name}: ${value}`)
  const { pathname, search } = new URL(url)
  const body = requestBody === '' ? [] : ['', display(requestBody)]
  return [`${method} ${pathname}${search}`, ...headers, ...body].join('\n')
}

function responseText(exchange: Exchange): string {
  return `status ${exchange.status} ${bodyText(exchange)}`.trimEnd()
}

function bodyText({ body }: Exchange): string {
  return new TextDecoder().decode(body.subarray(0, 2000))
}

function hex(bytes: Uint8Array): string {
  return `${bytes.length} bytes ${Buffer.from(bytes.subarray(0, 64)).toString('hex')}`
}

/** Returns the value that is best changed: an exact one, and the last, since first ones are often keys. */
function pick(leaves: readonly ComparedValue[]): ComparedValue | undefined {
  return leaves.findLast(({ exact }) => exact) ?? leaves.at(-1)
}

/** Returns how telling a value is: long texts are found in one place, true and null in many. */
function weight({ value }: ComparedValue): number {
  if (typeof value === 'string') return 10 + value.length
  return typeof value === 'number' ? 5 : 0
}
