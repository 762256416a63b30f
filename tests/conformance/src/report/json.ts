import { tally, type Report } from './model.ts'

/** Returns the result as JSON. */
export function jsonReport(report: Report): string {
  const outcomes = report.groups.flatMap((group) => group.outcomes)
  const hidden = new Set(['mutations', 'isMutated'])
  const document = { ...report, totals: tally(outcomes) }
  return `${JSON.stringify(document, (name, value: unknown) => (hidden.has(name) ? undefined : value), 2)}\n`
}
