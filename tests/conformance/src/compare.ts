import type { Outcome } from './runner.ts'

/** A case whose outcome is another one at the other server. */
export interface Contrast {
  name: string
  promise: string
  source: string
  here: Outcome
  there: Outcome
}

/**
 * Returns the cases in which two servers differ: in the state, or in their responses where both differ from the
 * promise.
 */
export function contrasts(here: readonly Outcome[], there: readonly Outcome[]): Contrast[] {
  const others = new Map(there.map((outcome) => [outcome.name, outcome]))
  return here.flatMap((one) => {
    const other = others.get(one.name)
    if (!other || (one.state === other.state && gist(one) === gist(other))) return []
    const { name, promise, source } = one
    return [{ name, promise, source, here: one, there: other }]
  })
}

/** Returns the text of a response, without the names that differ in each run. */
function gist({ difference }: Outcome): string {
  return (difference?.got ?? '')
    .replaceAll(/conformance[_-][0-9a-f]{8}[_-]\d+/g, 'conformance')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'uuid')
    .replaceAll(/\d+/g, '0')
}
