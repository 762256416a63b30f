#!/usr/bin/env node
import { readFile, writeFile } from 'node:fs/promises'

import { printable } from './difference.ts'
import { loadGroups, select } from './load.ts'
import { masker, maskAll } from './mask.ts'
import { parseOptions, usage, UsageError, type Options } from './options.ts'
import { htmlReport } from './report/html.ts'
import { jsonReport } from './report/json.ts'
import { junitReport } from './report/junit.ts'
import type { Report } from './report/model.ts'
import { comparisonReport, terminalReport } from './report/terminal.ts'
import { run, Unreachable } from './run.ts'
import { setupSql } from './schema.ts'
import { swapCheck } from './swap/command.ts'

/** What the process ends with. */
const status = { passed: 0, failed: 1, usage: 2, unreachable: 3, interrupted: 130 } as const

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2), process.env)
  if (options.action === 'help') return print(usage)
  if (options.action === 'print-sql') return print(await setupSql())
  const groups = await loadGroups()
  const cases = selectCases(
    groups.flatMap((group) => group.cases),
    options,
  )
  if (options.action === 'list') {
    return print(cases.map(({ name, promise }) => `${name}\t${promise}\n`).join(''))
  }

  const interruption = new AbortController()
  process.once('SIGINT', () => {
    process.stderr.write('\nending: what was made is removed (Ctrl-C again ends at once)\n')
    interruption.abort()
    process.once('SIGINT', () => process.exit(status.interrupted))
  })
  process.once('SIGTERM', () => {
    interruption.abort()
  })
  if (options.action === 'swap-check') {
    const passed = await swapCheck(await version(), groups, options, interruption.signal)
    if (interruption.signal.aborted) return status.interrupted
    return passed ? status.passed : status.failed
  }
  const found = await run(await version(), groups, cases, options, interruption.signal)
  const targets = [options.target, ...(options.other ? [options.other] : [])]
  await writeReports(maskAll(found, masker(targets)), options)
  if (interruption.signal.aborted) return status.interrupted
  return found.passed ? status.passed : status.failed
}

function selectCases(cases: Parameters<typeof select>[0], { only, require }: Options) {
  try {
    const selected = select(cases, only)
    // What is required and not tried would pass in silence.
    select(
      selected,
      require.filter((prefix) => !prefix.startsWith('-')),
    )
    return selected
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

async function writeReports(report: Report, { junit, json, html }: Options): Promise<void> {
  const { stdout } = process
  if (report.comparison) print(comparisonReport(report))
  else print(terminalReport(report, stdout.isTTY && !process.env.NO_COLOR))
  if (junit) await writeFile(junit, junitReport(report))
  if (json) await writeFile(json, jsonReport(report))
  if (html) await writeFile(html, htmlReport(report))
}

function print(text: string): number {
  process.stdout.write(text)
  return status.passed
}

async function version(): Promise<string> {
  const text = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

try {
  // Clients may keep timers and sockets for a while; all that was begun has been ended.
  process.exitCode = await main()
  setTimeout(() => process.exit(), 500).unref()
} catch (error) {
  const known = error instanceof UsageError || error instanceof Unreachable
  const { message, stack } = error as Error
  process.stderr.write(printable(`basalt-conformance: ${known ? message : (stack ?? message)}\n`))
  if (error instanceof UsageError) process.stderr.write('See basalt-conformance --help.\n')
  if (error instanceof Unreachable) process.exit(status.unreachable)
  process.exit(error instanceof UsageError ? status.usage : status.failed)
}
