/** The command `swap check`: what a project uses, and what of it a target lacks. */
import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import type { Group } from '../case.ts'
import { masker, maskAll } from '../mask.ts'
import { UsageError, type Options } from '../options.ts'
import { run } from '../run.ts'
import type { Outcome } from '../runner.ts'
import { casesOf, isLacking, featureReports, type SwapReport } from './check.ts'
import { askTarget, type Facts } from './facts.ts'
import { features } from './features.ts'
import { ProjectError, scanProject } from './project.ts'
import { swapJson, swapTable } from './report.ts'
import { byFeature } from './use.ts'

const nothing: Facts = { auth: null, database: null }

/** Scans the project, asks the target where there is one, and prints. Returns whether nothing used is lacking. */
export async function swapCheck(
  kit: string,
  groups: readonly Group[],
  options: Options,
  signal: AbortSignal,
): Promise<boolean> {
  const started = new Date().toISOString()
  const project = path.resolve(options.project)
  const used = byFeature(await scanned(project), Object.keys(features))
  const { url } = options.target
  const cases = casesOf(
    groups.flatMap((group) => group.cases),
    used,
  )
  const facts = url === '' ? nothing : await askTarget(options.target)
  const outcomes: readonly Outcome[] =
    url === ''
      ? []
      : (await run(kit, groups, cases, options, signal)).groups.flatMap((group) => group.outcomes)
  const reports = featureReports(used, outcomes, facts)
  const passed = url === '' ? null : !reports.some(isLacking)
  const found: SwapReport = { kit, project, url, started, passed, features: reports }
  const report = maskAll(found, masker([options.target]))
  const { stdout } = process
  stdout.write(swapTable(report, stdout.isTTY && !process.env.NO_COLOR))
  if (options.json) await writeFile(options.json, swapJson(report))
  return passed !== false
}

async function scanned(project: string) {
  try {
    return await scanProject(project)
  } catch (error) {
    if (error instanceof ProjectError) throw new UsageError(error.message)
    throw error
  }
}
