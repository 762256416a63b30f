/** Mutating responses on purpose, to see whether a case notices. */
import type { ComparedValue, Path } from './match.ts'

/** What is changed about one HTTP response, the `ordinal`th of its case. */
export type ExchangeMutation = { ordinal: number } & (
  | {
      kind: 'status'
      /** Whether the very number is checked, or success and failure alone. */ exact: boolean
    }
  | { kind: 'header'; name: string; exact: boolean }
  | { kind: 'field'; paths: readonly Path[]; exact: boolean }
  | { kind: 'row'; path: Path }
  | { kind: 'added row'; path: Path }
  | { kind: 'body' }
)

/** What is changed about one message of a WebSocket, found again by its `key`. */
export interface MessageMutation {
  key: string
  kind: 'changed message' | 'dropped message'
  paths: readonly Path[]
}

export type Mutation = ExchangeMutation | MessageMutation

const replacement = 'spoiled'

/** Returns whether the mutation is one of a message. */
export function isMessageMutation(mutation: Mutation): mutation is MessageMutation {
  return 'key' in mutation
}

/** Returns a line that says what a mutation changes. */
export function describe(mutation: Mutation): string {
  if (isMessageMutation(mutation)) return `${mutation.kind} ${mutation.key}`
  const where = `of response ${mutation.ordinal + 1}`
  switch (mutation.kind) {
    case 'header':
      return `header ${mutation.name} ${where}`
    case 'field':
      return `field ${mutation.paths[0]?.join('.') ?? ''} ${where}`
    case 'row':
    case 'added row':
      return `${mutation.kind} ${mutation.path.join('.')} ${where}`
    default:
      return `${mutation.kind} ${where}`
  }
}

/** Returns the mutated form of a response; null where there is nothing to mutate. */
export function mutateResponse(
  mutation: ExchangeMutation,
  response: { status: number; headers: Headers; body: Uint8Array },
): typeof response | null {
  const { status, body } = response
  const headers = new Headers(response.headers)
  switch (mutation.kind) {
    case 'status':
      return { status: otherStatus(status, mutation.exact), headers, body }
    case 'header':
      if (headers.has(mutation.name))
        headers.set(mutation.name, otherHeader(headers.get(mutation.name) ?? '', mutation.exact))
      else headers.set(mutation.name, replacement)
      return { status, headers, body }
    case 'body':
      return { status, headers, body: otherBody(body) }
    default: {
      const document = parseJson(body)
      if (document === undefined) return null
      const changed = mutateDocument(mutation, document)
      return changed === undefined ? null : { status, headers, body: encoded(changed) }
    }
  }
}

/** Returns the mutated form of a text message; null where there is nothing to mutate. */
export function mutateText(paths: readonly Path[], text: string): string | null {
  const document = parseJson(new TextEncoder().encode(text))
  if (document === undefined) return text === '' ? null : replacement
  const changed = mutateDocument({ kind: 'field', paths, exact: true }, document)
  return changed === undefined ? null : JSON.stringify(changed)
}

/** Returns the other status that stands for "not what was promised". */
export function otherStatus(status: number, exact: boolean): number {
  if (!exact) return status < 400 ? 500 : 200
  const family = Math.floor(status / 100)
  if (family === 3) return status === 302 ? 307 : 302
  if (family === 2) return status === 200 ? 203 : 200
  if (family === 4) return status === 400 ? 422 : 400
  return 500 === status ? 501 : 500
}

/** Returns another value of the same type, or of another type where the type alone is promised. */
export function otherValue(value: unknown, exact: boolean): unknown {
  if (!exact) return typeof value === 'number' ? replacement : value === null ? 7 : null
  if (typeof value === 'number') return Number.isSafeInteger(value + 1) ? value + 1 : -1
  if (typeof value === 'boolean') return !value
  return value === replacement ? `${replacement} twice` : replacement
}

/** Parses a body; undefined where it is no JSON. */
export function parseJson(body: Uint8Array): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown
  } catch {
    return undefined
  }
}

/** Returns all scalars of a JSON document with their places. */
export function leavesOf(document: unknown, path: Path = []): ComparedValue[] {
  if (typeof document !== 'object' || document === null) {
    return [{ path, value: document, exact: true }]
  }
  return Object.entries(document).flatMap(([name, value]) =>
    leavesOf(value, [...path, Array.isArray(document) ? Number(name) : name]),
  )
}

/** Returns all arrays of a JSON document with their places. */
export function arraysOf(document: unknown, path: Path = []): { path: Path; length: number }[] {
  if (typeof document !== 'object' || document === null) return []
  const own = Array.isArray(document) ? [{ path, length: document.length }] : []
  const inner = Object.entries(document).flatMap(([name, value]) =>
    arraysOf(value, [...path, Array.isArray(document) ? Number(name) : name]),
  )
  return [...own, ...inner]
}

function mutateDocument(
  mutation:
    | { kind: 'field'; paths: readonly Path[]; exact: boolean }
    | { kind: 'row' | 'added row'; path: Path },
  document: unknown,
): unknown {
  const root = { document: structuredClone(document) }
  if (mutation.kind === 'field') {
    const changed = mutation.paths.filter((path) =>
      change(root, path, (value) => otherValue(value, mutation.exact)),
    )
    return changed.length > 0 ? root.document : undefined
  }
  const array = mutation.kind === 'row' ? mutation.path.slice(0, -1) : mutation.path
  const done = change(root, array, (value) => {
    if (!Array.isArray(value)) return value
    if (mutation.kind === 'added row') return [...(value as unknown[]), { [replacement]: true }]
    const row = mutation.path.at(-1)
    const index = Math.min(Number(row), value.length - 1)
    return value.filter((_, at) => row !== '*' && at !== index) as unknown[]
  })
  return done ? root.document : undefined
}

/** Changes the value at `path`; false where the path leads nowhere. */
function change(root: object, path: Path, to: (value: unknown) => unknown): boolean {
  return changeMember(root as Record<string, unknown>, 'document', path, to)
}

function changeMember(
  holder: Record<string, unknown>,
  name: string,
  [step, ...rest]: Path,
  to: (value: unknown) => unknown,
): boolean {
  const before = holder[name]
  if (step === undefined) {
    const after = to(before)
    holder[name] = after
    return JSON.stringify(before) !== JSON.stringify(after)
  }
  if (typeof before !== 'object' || before === null) return false
  const members = before as Record<string, unknown>
  const names = step === '*' ? Object.keys(members) : [String(step)]
  return names.filter((one) => changeMember(members, one, rest, to)).length > 0
}

function otherHeader(value: string, exact: boolean): string {
  // Numbers stay numbers, so that clients that parse them hand on a wrong one.
  const isNumbered = exact && /\d/.test(value)
  return isNumbered ? value.replaceAll(/\d+/g, (digits) => String(Number(digits) + 1)) : replacement
}

function otherBody(body: Uint8Array): Uint8Array {
  const document = parseJson(body)
  if (document === undefined) {
    return body.length === 0
      ? encoded(replacement)
      : body.map((byte, at) => (at === 0 ? byte ^ 1 : byte))
  }
  if (Array.isArray(document))
    return encoded(document.length === 0 ? [{ [replacement]: true }] : [])
  if (typeof document === 'object' && document !== null) return encoded({ [replacement]: true })
  return encoded(otherValue(document, true))
}

function encoded(document: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(document))
}
