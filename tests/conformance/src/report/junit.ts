import type { Outcome } from '../runner.ts'
import { escape } from './escape.ts'
import { failures, type GroupReport, type Report } from './model.ts'

/**
 * Returns the result as JUnit XML: a suite for each group; what is absent or was not tried is skipped, unless
 * required.
 */
export function junitReport(report: Report): string {
  const outcomes = report.groups.flatMap((group) => group.outcomes)
  const failed = new Set(failures(outcomes, report.required).map(({ name }) => name))
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="basalt-conformance" ${sums(outcomes, failed)} time="${seconds(report.duration)}">`,
    ...report.groups.map((group) => suite(group, failed, report.started)),
    '</testsuites>',
    '',
  ].join('\n')
}

function suite(group: GroupReport, failed: ReadonlySet<string>, started: string): string {
  const { name, outcomes } = group
  const time = outcomes.reduce((sum, { duration }) => sum + duration, 0)
  return [
    `<testsuite name="${escape(name)}" ${sums(outcomes, failed)} time="${seconds(time)}" timestamp="${started}">`,
    ...outcomes.map((outcome) => testCase(outcome, failed)),
    '</testsuite>',
  ].join('\n')
}

function testCase(outcome: Outcome, failed: ReadonlySet<string>): string {
  const { name, group, promise, source, state, reason, difference, duration } = outcome
  const open = `<testcase name="${escape(name)}" classname="${escape(group)}" time="${seconds(duration)}"`
  if (state === 'holds') return `${open}/>`
  const message = difference ? `got ${difference.got}` : `${state}: ${reason}`
  const text = difference
    ? [
        promise,
        source,
        '',
        difference.request,
        '',
        `expected ${difference.expected}`,
        `got ${difference.got}`,
      ]
    : [promise, source]
  const fails = failed.has(name) || state === 'differs'
  const body = fails
    ? `<failure type="${state}" message="${escape(message.slice(0, 300))}">${escape(text.join('\n'))}</failure>`
    : `<skipped message="${escape(message)}"/>`
  return `${open}>${body}</testcase>`
}

function sums(outcomes: readonly Outcome[], failed: ReadonlySet<string>): string {
  const failures = outcomes.filter(({ name, state }) => failed.has(name) || state === 'differs')
  const skipped = outcomes.filter(
    ({ name, state }) => (state === 'absent' || state === 'not tried') && !failed.has(name),
  )
  return `tests="${outcomes.length}" failures="${failures.length}" errors="0" skipped="${skipped.length}"`
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3)
}
