import type { Contrast } from '../compare.ts'
import type { Group } from '../case.ts'
import { isBelow } from '../load.ts'
import type { Outcome, State } from '../runner.ts'
import type { SelfCheck } from '../selfcheck.ts'

/** What a run has found, without secrets. */
export interface Report {
  kit: string
  url: string
  /** What was said about the server and what made the report; may be empty. */
  about: string
  /** ISO 8601. */
  started: string
  /** Milliseconds. */
  duration: number
  /** The names that were asked to hold; empty where all that is there must. */
  required: readonly string[]
  /** Whether everything that was asked for holds. */
  passed: boolean
  groups: GroupReport[]
  selfCheck: SelfCheck | null
  comparison: { url: string; contrasts: Contrast[] } | null
}

/** The outcomes of one group. */
export interface GroupReport {
  name: string
  title: string
  interface: string
  source: string
  outcomes: Outcome[]
}

/** The states in the order of tables. */
export const states: readonly State[] = ['holds', 'differs', 'absent', 'not tried']

/** Returns how many outcomes are of each state. */
export function tally(outcomes: readonly Outcome[]): Record<State, number> {
  const counts: Record<State, number> = { holds: 0, differs: 0, absent: 0, 'not tried': 0 }
  for (const { state } of outcomes) counts[state] += 1
  return counts
}

/** Puts outcomes under the groups that they belong to. */
export function grouped(groups: readonly Group[], outcomes: readonly Outcome[]): GroupReport[] {
  return groups.flatMap(({ name, interface: own, traits: { title, source } }) => {
    const members = outcomes.filter(({ group }) => group === name)
    return members.length > 0 ? [{ name, title, interface: own, source, outcomes: members }] : []
  })
}

/** Reports whether a case is below one of the names, and below none of those that begin with a minus. */
function isRequired(name: string, required: readonly string[]): boolean {
  const isNamed = (sign: boolean) =>
    required.some(
      (prefix) => prefix.startsWith('-') === sign && isBelow(name, prefix.replace(/^-/, '')),
    )
  return isNamed(false) && !isNamed(true)
}

/**
 * Returns what was asked for and does not hold: of the required names all that does not, otherwise all that differs.
 */
export function failures(outcomes: readonly Outcome[], required: readonly string[]): Outcome[] {
  if (required.length === 0) return outcomes.filter(({ state }) => state === 'differs')
  return outcomes.filter(({ name, state }) => state !== 'holds' && isRequired(name, required))
}
