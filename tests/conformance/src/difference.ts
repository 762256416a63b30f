import type { Path } from './match.ts'

/** One thing that a case has checked: what was asked, what is promised, and what came. */
export interface Check {
  /** The request, or the message that was waited for. */
  request: string
  expected: string
  got: string
}

/** Thrown by assertions: the server does otherwise than promised. */
export class Difference extends Error {
  override name = 'Difference'

  constructor(readonly check: Check) {
    super(`${check.request}: expected ${check.expected}, got ${check.got}`)
  }
}

/** Thrown by a case whose feature the server does not have at all. */
export class Absent extends Error {
  override name = 'Absent'
}

/** How the reason begins where the server has refused what a case needs. */
export const setUpFailed = 'the set-up failed'

/** Thrown when what a case needs could not be made. */
export class SetUpError extends Error {
  override name = 'SetUpError'
}

/** The longest text of a report's field, in characters. */
const textLimit = 4000

/** Returns a value as a report shows it. */
export function display(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value instanceof RegExp) return value.toString()
  if (value instanceof Error) return `${value.name}: ${value.message}`
  const text = typeof value === 'string' ? value : JSON.stringify(value, reveal)
  return text.length > textLimit ? `${text.slice(0, textLimit)}…` : text
}

/** Returns text for a terminal: without the characters that control one, but for line ends and tabs. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, '\uFFFD')
}

/** Returns a place in a JSON document, `body[0].name`. */
export function place(path: Path): string {
  return path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
}

function reveal(_name: string, value: unknown): unknown {
  if (value instanceof RegExp) return value.toString()
  if (value instanceof Uint8Array) return `${value.length} bytes`
  return value
}
