/**
 * What clients see while parts of a production cluster are killed: node tests/cluster/failures.mjs [PART …]
 *
 * For each part, a cluster gets steady requests of visitors through its balancer: rows, objects, reads, downloads, and who
 * the user is. The part is killed with SIGKILL, or restarted as an operator does; then everything that was acknowledged
 * has to be there. Prints a table, and ends with 1 if more requests failed than allowed. FAILURE_SECONDS is the time
 * that a part is away (4 by default).
 */
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { table } from '../../bench/lib/table.mjs'
import { Cluster } from './cluster.mjs'
import { isSuccess, Load } from './load.mjs'

/** @typedef {import('./load.mjs').Outcome} Outcome */

/** How long a part is away, in milliseconds. */
const away = 1000 * (Number(process.env.FAILURE_SECONDS) || 4)
/** How long the load runs before and after the failure, in milliseconds. */
const calm = 3000
/** How soon writes succeed once a standby has been promoted, in milliseconds. */
const recovery = 1000

/**
 * A part that can be killed.
 * @typedef {object} Part
 * @property {string} what
 * @property {(cluster: Cluster) => Promise<unknown>} goes kills it
 * @property {(cluster: Cluster) => Promise<unknown>} [returns] brings it back, after a while
 * @property {(failure: Outcome, times: Times) => boolean} mayFail whether a request may fail
 *
 * When its end began, when it was gone, and when it was back. @typedef {{ from: number, gone: number, back: number }} Times
 */

/** Returns whether a request was under way while a part ended. */
const wasCut = (/** @type {Outcome} */ { begun, ended }, /** @type {Times} */ { from, gone }) =>
  begun <= gone && ended >= from

/** Returns whether the response says that the service is away, and when to try again. */
const isAway = (/** @type {Outcome} */ { status, retryAfter }) =>
  status === 503 && retryAfter !== ''

const isWrite = (/** @type {Outcome} */ { kind }) => kind === 'row' || kind === 'object'

/** @type {Record<string, Part>} */
const parts = {
  restart: {
    what: 'both nodes restarted, one after the other',
    async goes({ one, two }) {
      for (const node of [one, two]) {
        await node.stop()
        await node.start()
      }
    },
    mayFail: () => false,
  },
  node: {
    what: 'a node killed',
    goes: ({ one }) => one.kill(),
    returns: ({ one }) => one.start(),
    // A change may be unfinished if its node was killed.
    mayFail: (failure, times) => isWrite(failure) && wasCut(failure, times),
  },
  standby: {
    what: 'a standby killed',
    goes: ({ postgres }) => postgres.standby.stop('SIGKILL'),
    returns: ({ postgres }) => postgres.standby.start(),
    mayFail: () => false,
  },
  nats: {
    what: 'NATS killed',
    goes: ({ nats }) => nats.stop('SIGKILL'),
    returns: ({ nats }) => nats.start(),
    mayFail: () => false,
  },
  store: {
    what: 'the S3 store killed',
    goes: ({ store }) => store.stop('SIGKILL'),
    returns: ({ store }) => store.start(),
    mayFail: (failure, { back }) =>
      (failure.kind === 'object' || failure.kind === 'download') &&
      isAway(failure) &&
      failure.begun < back + recovery,
  },
  frozen: {
    what: 'the primary halted',
    goes: async ({ postgres }) => postgres.primary.halt(),
    returns: async ({ postgres }) => postgres.primary.resume(),
    mayFail: () => false,
  },
  primary: {
    what: 'the primary killed, a standby promoted',
    goes: ({ postgres }) => postgres.primary.stop('SIGKILL'),
    returns: ({ postgres }) => postgres.promote(),
    mayFail: (failure, { back }) =>
      isWrite(failure) && isAway(failure) && failure.begun < back + recovery,
  },
}

const chosen = process.argv.slice(2)
if (chosen.some((name) => !(name in parts))) {
  console.error(`usage: failures.mjs [${Object.keys(parts).join('|')} …]`)
  process.exit(2)
}

const cluster = await Cluster.start({
  project: path.resolve(import.meta.dirname, '../projects/notes'),
})
try {
  const lines = []
  for (const [name, part] of Object.entries(parts)) {
    if (chosen.length === 0 || chosen.includes(name)) lines.push(await tryOut(cluster, part))
  }
  table(
    [
      '',
      'rows',
      'objects',
      'lost',
      'reads',
      'failed',
      'wrongly',
      'failures, s after the kill',
      'slowest, s',
    ],
    lines,
  )
} finally {
  await cluster.stop()
}

/**
 * Lets a part be away under load; returns the line of the table.
 * @param {Cluster} cluster
 * @param {Part} part
 */
async function tryOut(cluster, { what, goes, returns, mayFail }) {
  const load = new Load(cluster.access)
  try {
    await load.start()
    await pause(calm)
    const from = performance.now()
    await goes(cluster)
    const gone = performance.now()
    if (returns) {
      await pause(away)
      await returns(cluster)
    }
    const back = performance.now()
    await pause(calm)
    await load.stop()
    const lost = await load.loss(cluster.postgres.primary)
    const failures = load.outcomes.filter((one) => !isSuccess(one))
    const wrong = failures.filter((failure) => !mayFail(failure, { from, gone, back }))
    explain(what, failures, from, back)
    const losses = lost.rows.length + lost.objects.length
    if (losses > 0 || wrong.length > 0) process.exitCode = 1
    const acknowledged = (/** @type {string[]} */ ...kinds) =>
      load.outcomes.filter((one) => kinds.includes(one.kind) && isSuccess(one)).length
    const seconds = (/** @type {number} */ time) => ((time - from) / 1000).toFixed(1)
    const times = failures.map(({ begun }) => begun)
    const span =
      times.length === 0 ? '' : `${seconds(Math.min(...times))} … ${seconds(Math.max(...times))}`
    const slowest = Math.max(...load.outcomes.map(({ begun, ended }) => ended - begun))
    return [
      `${what} (${seconds(back)} s)`,
      acknowledged('row'),
      acknowledged('object'),
      losses,
      acknowledged('read', 'download', 'user'),
      failures.length,
      wrong.length,
      span,
      (slowest / 1000).toFixed(1),
    ]
  } finally {
    await load.stop()
    load.close()
  }
}

/**
 * Prints which requests failed, and how.
 * @param {string} what
 * @param {Outcome[]} failures
 * @param {number} from
 * @param {number} back
 */
function explain(what, failures, from, back) {
  if (failures.length === 0) return
  console.log(`${what}; back after ${((back - from) / 1000).toFixed(1)} s:`)
  /** @type {Map<string, Outcome[]>} */
  const groups = new Map()
  for (const failure of failures) {
    const { kind, status, retryAfter } = failure
    const name = `${kind}, ${status}, Retry-After: ${retryAfter || 'none'}`
    groups.set(name, [...(groups.get(name) ?? []), failure])
  }
  for (const [name, group] of groups) {
    const times = group.map(({ begun }) => (begun - from) / 1000)
    const [first, last] = [Math.min(...times), Math.max(...times)]
    const when = `begun ${first.toFixed(2)} … ${last.toFixed(2)} s`
    console.log(`  ${group.length} × ${name}, ${when}: ${group[0]?.text ?? ''}`)
  }
}
