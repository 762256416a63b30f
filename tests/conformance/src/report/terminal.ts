import { styleText } from 'node:util'

import { printable } from '../difference.ts'
import type { Outcome, State } from '../runner.ts'
import { failures, states, tally, type Report } from './model.ts'

const colours = { holds: 'green', differs: 'red', absent: 'yellow', 'not tried': 'gray' } as const

/** Returns the result as text for a terminal; `coloured` for one that shows colours. */
export function terminalReport(report: Report, coloured: boolean): string {
  const paint = (state: State, text: string) =>
    coloured ? styleText(colours[state], text, { validateStream: false }) : text
  const outcomes = report.groups.flatMap((group) => group.outcomes)
  const rows = report.groups.map(({ name, outcomes }) => ({ name, counts: tally(outcomes) }))
  const total = { name: 'all', counts: tally(outcomes) }
  const width = Math.max(...rows.map(({ name }) => name.length), 7)
  const line = ({ name, counts }: typeof total) =>
    [
      name.padEnd(width),
      ...states.map((state) => {
        const cell = (counts[state] === 0 ? '·' : String(counts[state])).padStart(10)
        return counts[state] === 0 ? cell : paint(state, cell)
      }),
    ].join('')
  const head = `${'feature'.padEnd(width)}${states.map((state) => state.padStart(10)).join('')}`
  const broken = outcomes.filter(({ state }) => state === 'differs')
  const wanting = failures(outcomes, report.required).filter(({ state }) => state !== 'differs')
  const repeated = outcomes.filter(({ again, state }) => again && state === 'holds')
  return [
    ...[...broken, ...wanting].map((outcome) => detail(outcome, paint)),
    head,
    ...rows.map(line),
    line(total),
    ...(repeated.length > 0
      ? [`held at a second try: ${repeated.map(({ name }) => name).join(', ')}`]
      : []),
    ...selfCheckLines(report),
    ...(report.required.length > 0 ? [`required: ${report.required.join(', ')}`] : []),
    verdict(report, failures(outcomes, report.required).length),
    '',
  ].join('\n')
}

/** Returns the cases in which two servers differ. */
export function comparisonReport({ url, comparison }: Report): string {
  if (comparison === null) return ''
  if (comparison.contrasts.length === 0) return `${url} and ${comparison.url} do not differ\n`
  const lines = comparison.contrasts.map(({ name, promise, source, here, there }) =>
    [
      name,
      `  ${promise}`,
      `  ${source}`,
      `  ${url}: ${gist(here)}`,
      `  ${comparison.url}: ${gist(there)}`,
    ].join('\n'),
  )
  return `${printable(lines.join('\n\n'))}\n\n${comparison.contrasts.length} cases differ\n`
}

function gist({ state, reason, difference }: Outcome): string {
  const explanation = difference ? `expected ${difference.expected}, got ${difference.got}` : reason
  return explanation === '' ? state : `${state}: ${explanation}`
}

function detail(outcome: Outcome, paint: (state: State, text: string) => string): string {
  const { name, state, promise, source, reason, difference } = outcome
  const facts = difference
    ? [
        ['request', difference.request],
        ['expected', difference.expected],
        ['got', difference.got],
      ]
    : [['reason', reason]]
  return [
    `${paint(state, state.padEnd(9))} ${name}`,
    `  ${promise}`,
    ...facts.map(
      ([label = '', text = '']) =>
        `  ${label.padEnd(9)}${printable(text).replaceAll('\n', '\n           ')}`,
    ),
    `  ${'source'.padEnd(9)}${source}`,
    '',
  ].join('\n')
}

function selfCheckLines({ selfCheck }: Report): string[] {
  if (selfCheck === null) return []
  const { cases, runs, unnoticed } = selfCheck
  const lines = unnoticed.map(({ name, spoil }) => `  ${name}: ${spoil}`)
  const sum = `self-check: ${cases} cases, ${runs} spoilt runs, ${unnoticed.length} not noticed`
  return [sum, ...lines]
}

function verdict({ duration, url, passed }: Report, failed: number): string {
  const seconds = (duration / 1000).toFixed(1)
  return `${passed ? 'passed' : failed === 0 ? 'not passed' : `failed (${failed} cases)`}: ${url} in ${seconds} s`
}
