/** Compares what a project uses with what a target has. */
import type { Case } from '../case.ts'
import type { Check } from '../difference.ts'
import { isBelow } from '../load.ts'
import { needs } from '../needs.ts'
import type { Outcome, State } from '../runner.ts'
import type { Facts } from './facts.ts'
import { casePrefixes, features, type Feature, type Finding } from './features.ts'
import type { UsedFeature } from './use.ts'

export type Verdict = Exclude<State, 'not tried'> | 'not known'

/** A case that does not hold. */
interface Failure extends Pick<Outcome, 'name' | 'state' | 'promise' | 'source' | 'reason'> {
  difference: Check | null
}

/** A used feature, and what the target says of it. */
export interface FeatureReport extends UsedFeature {
  title: string
  verdict: Verdict
  /** What the target says by its settings or its catalogue; why it is not known. */
  notes: readonly string[]
  /** How many cases the kit has of it, and how many of them were tried. */
  cases: number
  tried: number
  /** Why cases were not tried. */
  untried: readonly string[]
  failures: readonly Failure[]
}

/** What `swap check` has found, without secrets. */
export interface SwapReport {
  kit: string
  project: string
  /** Empty where no target was asked. */
  url: string
  /** ISO 8601. */
  started: string
  /** Whether the target lacks nothing that is used; null where none was asked. */
  passed: boolean | null
  features: readonly FeatureReport[]
}

/** Returns the cases that try what is used. */
export function casesOf(cases: readonly Case[], used: readonly UsedFeature[]): Case[] {
  const prefixes = used.flatMap(({ feature, name }) => casePrefixes(feature, name))
  return cases.filter(({ name }) => prefixes.some((prefix) => isBelow(name, prefix)))
}

/** Judges each feature by the cases and by what the target says of itself. */
export function featureReports(
  used: readonly UsedFeature[],
  outcomes: readonly Outcome[],
  facts: Facts,
): FeatureReport[] {
  return used.map((one) => {
    const feature = features[one.feature] ?? { title: one.feature }
    const findings = findingsOf(feature, one, facts)
    const prefixes = casePrefixes(one.feature, one.name)
    const relevant = outcomes.filter(({ name }) => prefixes.some((prefix) => isBelow(name, prefix)))
    const tried = relevant.filter(({ state }) => state !== 'not tried')
    const found = verdictOf(findings, tried)
    // Where most could not be tried, those that hold say too little.
    const verdict = found === 'holds' && tried.length * 2 < relevant.length ? 'not known' : found
    const notes = findings.flatMap(({ note }) => note || [])
    if (verdict === 'not known' && relevant.length === 0) notes.push(whyNotKnown(feature, facts))
    return {
      ...one,
      title: feature.title,
      verdict,
      notes,
      cases: relevant.length,
      tried: tried.length,
      untried: [
        ...new Set(relevant.flatMap(({ state, reason }) => (state === 'not tried' ? reason : []))),
      ],
      failures: tried.filter(({ state }) => state !== 'holds').map(failureOf),
    }
  })
}

function findingsOf(feature: Feature, { name, things }: UsedFeature, facts: Facts): Finding[] {
  const { auth, database } = facts
  const said = [
    auth && feature.auth?.(auth, name),
    database && feature.database?.(database, name, things),
  ]
  return said.filter((finding) => finding !== null && finding !== undefined)
}

/** Returns why nothing is known of a feature that has no cases. */
function whyNotKnown(feature: Feature, { database }: Facts): string {
  if (!feature.database) return 'no case tries it'
  return database ? 'a database does not tell whether its user may' : `needs ${needs.db}`
}

/** Returns whether the target is known not to have it as the project needs it. */
export function isLacking({ verdict }: FeatureReport): boolean {
  return verdict === 'differs' || verdict === 'absent'
}

function verdictOf(findings: readonly Finding[], outcomes: readonly Outcome[]): Verdict {
  const states = new Set([...findings, ...outcomes].map(({ state }) => state))
  if (states.size === 0) return 'not known'
  if (findings.some(({ state }) => state === 'absent')) return 'absent'
  if (states.size === 1 && states.has('holds')) return 'holds'
  // A feature that is there in part differs.
  return states.size === 1 && states.has('absent') ? 'absent' : 'differs'
}

function failureOf({ name, state, promise, source, reason, difference }: Outcome): Failure {
  return { name, state, promise, source, reason, difference }
}
