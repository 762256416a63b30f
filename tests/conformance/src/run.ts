import type { Case, Group } from './case.ts'
import { contrasts } from './compare.ts'
import { display } from './difference.ts'
import { missingNeeds } from './needs.ts'
import type { Options } from './options.ts'
import { Progress } from './progress.ts'
import { failures, grouped, type Report } from './report/model.ts'
import { Runner, type Outcome } from './runner.ts'
import { Schema } from './schema.ts'
import { selfCheck, type SelfCheck } from './selfcheck.ts'
import type { Target } from './target.ts'

/** Thrown where a server does not respond at all. */
export class Unreachable extends Error {
  override name = 'Unreachable'
}

/** Asks the server, and the one to compare with, and reports. */
export async function run(
  kit: string,
  groups: readonly Group[],
  cases: readonly Case[],
  options: Options,
  signal: AbortSignal,
): Promise<Report> {
  const started = new Date()
  const here = await ask(options.target, groups, cases, options, signal)
  const there =
    options.other &&
    (await ask(options.other, groups, cases, { ...options, selfCheck: false }, signal))
  const isFailed = failures(here.outcomes, options.require).length > 0
  const isBlind = (here.selfCheck?.unnoticed.length ?? 0) > 0
  return {
    kit,
    url: options.target.url,
    about: options.about,
    started: started.toISOString(),
    duration: Date.now() - started.getTime(),
    required: options.require,
    passed: !isFailed && !isBlind && !signal.aborted,
    groups: grouped(groups, here.outcomes),
    selfCheck: here.selfCheck,
    comparison:
      there && options.other
        ? { url: options.other.url, contrasts: contrasts(here.outcomes, there.outcomes) }
        : null,
  }
}

/** Asks one server: makes the schema where that can be done, runs the cases, and cleans up. */
async function ask(
  target: Target,
  groups: readonly Group[],
  cases: readonly Case[],
  options: Options,
  signal: AbortSignal,
): Promise<{ outcomes: Outcome[]; selfCheck: SelfCheck | null }> {
  await reach(target)
  const schema = target.databaseUrl === '' ? null : await hold(target)
  try {
    const missing = await missingNeeds(target)
    const progress = new Progress(process.stderr, target.url, cases.length)
    const { jobs, timeout } = options
    const onOutcome = (outcome: Outcome) => progress.outcome(outcome)
    const runner = new Runner(target, groups, missing, { jobs, timeout, signal, onOutcome })
    const outcomes = await runner.all(cases)
    return {
      outcomes,
      selfCheck:
        options.selfCheck && !signal.aborted ? await check(runner, cases, outcomes, jobs) : null,
    }
  } finally {
    await schema?.release()
  }
}

async function check(
  runner: Runner,
  cases: readonly Case[],
  outcomes: readonly Outcome[],
  jobs: number,
): Promise<SelfCheck> {
  let progress: Progress | null = null
  return selfCheck(runner, cases, outcomes, jobs, (done, all) => {
    progress ??= new Progress(process.stderr, 'self-check', all)
    progress.step(done)
  })
}

async function reach({ url }: Target): Promise<void> {
  try {
    // Any response will do: what it says is for the cases to check.
    const response = await fetch(`${url}/rest/v1/`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(20_000),
    })
    await response.body?.cancel()
  } catch (error) {
    const { cause } = error as Error
    throw new Unreachable(`${url} does not respond: ${display(cause ?? error)}`)
  }
}

async function hold(target: Target): Promise<Schema> {
  try {
    return await Schema.hold(target)
  } catch (error) {
    throw new Unreachable(`the schema could not be made with the database's URL: ${display(error)}`)
  }
}
