import type { Case } from './case.ts'
import { pool, type Outcome, type Runner } from './runner.ts'
import { describe } from './mutation.ts'

/** A case that did not notice a mutated response. */
interface MissedMutation {
  name: string
  /** What was mutated; or that the case checks nothing. */
  spoil: string
}

/** What the self-check has found. */
export interface SelfCheck {
  /** How many cases were tried. */
  cases: number
  /** How many responses and messages were mutated. */
  runs: number
  unnoticed: MissedMutation[]
}

/**
 * Runs each case that holds again, once for each of its mutations. A case notices by any other outcome than "holds".
 * `jobs` is the most that run at once; cases that run alone do so here, too.
 */
export async function selfCheck(
  runner: Runner,
  cases: readonly Case[],
  outcomes: readonly Outcome[],
  jobs: number,
  onRun: (done: number, all: number) => void,
): Promise<SelfCheck> {
  const holding = new Map(
    outcomes.filter(({ state }) => state === 'holds').map((outcome) => [outcome.name, outcome]),
  )
  const unnoticed: MissedMutation[] = []
  const tasks = cases.flatMap((one) => {
    const outcome = holding.get(one.name)
    if (!outcome) return []
    if (outcome.mutations.length === 0)
      unnoticed.push({ name: one.name, spoil: 'the case judges no response' })
    return outcome.mutations.map((mutation) => ({ one, mutation, duration: outcome.duration }))
  })
  let done = 0
  const run = async ({ one, mutation, duration }: (typeof tasks)[number]) => {
    // A mutated message never satisfies its wait, so the wait is limited to the duration of the case and a margin.
    const patience = Math.min(8000, 1500 + 2 * duration)
    const { state, reason, isMutated } = await runner.one(one, { mutation, patience })
    if (state === 'holds') {
      const suffix = isMutated ? '' : ' (did not come again)'
      unnoticed.push({ name: one.name, spoil: `${describe(mutation)}${suffix}` })
    } else if (state === 'not tried') {
      // No mutation reaches the set-up, so nothing has been shown.
      unnoticed.push({ name: one.name, spoil: `${describe(mutation)} (not tried: ${reason})` })
    }
    done += 1
    onRun(done, tasks.length)
  }
  await pool(
    tasks.filter(({ one }) => !one.alone),
    jobs,
    run,
  )
  await pool(
    tasks.filter(({ one }) => one.alone),
    1,
    run,
  )
  unnoticed.sort((a, b) => a.name.localeCompare(b.name))
  return { cases: holding.size, runs: tasks.length, unnoticed }
}
