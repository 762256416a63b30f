import type { Case } from './case.ts'
import { pool, type Outcome, type Runner } from './runner.ts'
import { describe, type Spoil } from './spoil.ts'

/** A case that did not notice a spoilt answer. */
interface Unnoticed {
  name: string
  /** What was spoilt; or that the case judges nothing. */
  spoil: string
}

/** What the self-check has found. */
export interface SelfCheck {
  /** How many cases were tried. */
  cases: number
  /** How many answers and messages were spoilt. */
  runs: number
  unnoticed: Unnoticed[]
}

/**
 * Runs each case that holds again, once for each of its spoils. A case notices by any other outcome than "holds".
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
  const unnoticed: Unnoticed[] = []
  const tasks = cases.flatMap((one) => {
    const outcome = holding.get(one.name)
    if (!outcome) return []
    if (outcome.spoils.length === 0)
      unnoticed.push({ name: one.name, spoil: 'the case judges no answer' })
    return outcome.spoils.map((spoil) => ({ one, spoil, duration: outcome.duration }))
  })
  let done = 0
  const run = async ({ one, spoil, duration }: { one: Case; spoil: Spoil; duration: number }) => {
    // A spoilt message is waited for in vain, so the wait is cut to what the case took, and some.
    const patience = Math.min(8000, 1500 + 2 * duration)
    const { state, reason, spoilt } = await runner.one(one, { spoil, patience })
    if (state === 'holds') {
      const again = spoilt ? '' : ' (did not come again)'
      unnoticed.push({ name: one.name, spoil: `${describe(spoil)}${again}` })
    } else if (state === 'not tried') {
      // No spoil reaches the set-up, so nothing has been shown.
      unnoticed.push({ name: one.name, spoil: `${describe(spoil)} (not tried: ${reason})` })
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
