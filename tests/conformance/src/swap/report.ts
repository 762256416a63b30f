import { styleText } from 'node:util'

import { isLacking, type FeatureReport, type SwapReport, type Verdict } from './check.ts'

const colours = { holds: 'green', differs: 'red', absent: 'yellow', 'not known': 'gray' } as const

const verdicts = ['holds', 'differs', 'absent', 'not known'] as const

/** The names of cases that one feature shows. */
const nameLimit = 8

/** Returns the result as a table for a terminal; `coloured` for one that shows colours. */
export function swapTable(report: SwapReport, coloured: boolean): string {
  const hasTarget = report.url !== ''
  const paint = (verdict: Verdict, text: string) =>
    coloured ? styleText(colours[verdict], text, { validateStream: false }) : text
  const rows = report.features.map((one) => ({ one, cells: [labelOf(one), placesOf(one)] }))
  const heads = ['feature', 'used at']
  const widths = heads.map((head, column) =>
    Math.max(head.length, ...rows.map(({ cells }) => cells[column]?.length ?? 0)),
  )
  const columns = (cells: readonly string[], last: string) =>
    [...cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)), last].join('  ').trimEnd()
  const lines = rows.flatMap(({ one, cells }) => {
    if (!hasTarget) return [columns(cells, '')]
    const [note, ...cases] = reasonsOf(one)
    return [columns(cells, `${paint(one.verdict, one.verdict)}${note}`), ...cases]
  })
  return [
    columns(heads, hasTarget ? 'on the target' : ''),
    ...lines,
    '',
    hasTarget ? sum(report) : `${count(rows.length, 'feature')} used; --url asks a target for them`,
    '',
  ].join('\n')
}

/** Returns the result as JSON. */
export function swapJson(report: SwapReport): string {
  return `${JSON.stringify(report, null, 2)}\n`
}

function labelOf({ feature, name }: FeatureReport): string {
  return name === '' ? feature : `${feature} ${name}`
}

function placesOf({ places }: FeatureReport): string {
  const [first] = places
  if (!first) return ''
  const more = places.length - 1
  return `${first.file}:${first.line}${more > 0 ? `, +${more} more` : ''}`
}

/** Returns what follows the verdict, and a further line where cases failed. */
function reasonsOf({
  notes,
  failures,
  cases,
  tried,
  untried,
}: FeatureReport): [string, ...string[]] {
  const lack = untried.map(flagOf).join('; ')
  const part =
    cases > tried ? [`${cases - tried} of ${count(cases, 'case')} not tried: ${lack}`] : []
  const all = [...notes.map(flagOf), ...part]
  const note = all.length > 0 ? `: ${all.join('; ')}` : ''
  if (failures.length === 0) return [note]
  const names = failures.slice(0, nameLimit).map(({ name }) => name)
  const hidden = failures.length - names.length
  const more = hidden > 0 ? `, +${hidden} more` : ''
  return [note, `    ${failures.length} of ${count(tried, 'case')}: ${names.join(', ')}${more}`]
}

/** Returns a missing need by its flag, as the JSON report has it in full. */
function flagOf(reason: string): string {
  return reason.replace(/^needs [^()]*\((--[\w-]+).*\)$/, 'needs $1')
}

function sum({ features, url }: SwapReport): string {
  const counts = verdicts.flatMap((verdict) => {
    const number = features.filter((one) => one.verdict === verdict).length
    const word = number > 1 ? verdict.replace(/^(hold|differ)s$/, '$1') : verdict
    return number > 0 ? `${number} ${word}` : []
  })
  const lacking = features.filter(isLacking).length
  const all = count(features.length, 'feature')
  const verdict =
    lacking === 0
      ? 'lacks nothing that was tried'
      : `lacks ${lacking} of them, or has them otherwise`
  return `${all} used (${counts.join(', ')}): ${url} ${verdict}`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}
