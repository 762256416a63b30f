import { median } from '../lib/statistics.mjs'
import { figure, heading, mebibytes, row, table } from '../lib/table.mjs'

/** The number of connections that the targets of requests/s are meant for. */
const usual = 16
/** The number of connections that the target of the 99th percentile is meant for. */
const many = 64

const limits = {
  /** p99 of Basalt ÷ p99 of PostgREST with many connections. */
  tail: 1 / 5,
  /** Peak resident memory of the server, in bytes. */
  memory: 48 * 2 ** 20,
  /** Processor time of the server per small request, in microseconds. */
  processor: 25,
}

/**
 * Prints the tables of a run and returns its checks, those that could be made.
 * @param {import('./workloads.mjs').Workload[]} workloads
 * @param {{ how: object, machine: object, peaks: Record<string, number>, turns: import('./suite.mjs').Turn[] }} run
 */
export function report(workloads, run) {
  const of = (workload, connections) => new Cell(run.turns, workload, connections)
  if (run.how.connections.includes(usual)) {
    throughput(workloads, of)
    inPlace(workloads, of)
  }
  for (const connections of run.how.connections) latency(workloads, connections, of)
  const checks = [
    ...workloads.flatMap((workload) => checksOf(workload, run.how.connections, of)),
    check(
      'peak memory of the server, MiB',
      run.peaks.basalt / 2 ** 20,
      '≤',
      limits.memory / 2 ** 20,
    ),
  ]
  heading(
    `${run.machine.processors} × ${run.machine.processor}, Postgres ${run.machine.postgres}, ` +
      `${run.how.pool} connections of each server to it`,
  )
  row('peak memory, Basalt', mebibytes(run.peaks.basalt))
  row('peak memory, PostgREST', mebibytes(run.peaks.postgrest))
  const missed = checks.filter(({ holds }) => !holds)
  heading(`Targets: ${checks.length - missed.length} of ${checks.length} reached`)
  for (const { what, value, relation, target } of missed) {
    row(`✗ ${what}`, `${figure(value)}, should be ${relation} ${figure(target)}`)
  }
  return checks
}

function throughput(workloads, of) {
  heading(`Requests/s and processor time per request, ${usual} connections`)
  const rows = workloads.map((workload) => {
    const cell = of(workload, usual)
    const ratio = cell.ratio('basalt', 'postgrest', 'per_second')
    return [
      workload.title,
      ...['basalt', 'postgrest'].map((peer) => figure(cell.middle(peer, 'per_second'))),
      ratio.toFixed(2),
      `≥ ${workload.target}`,
      mark(ratio >= workload.target),
      figure(cell.middle('pgbench', 'per_second')),
      cell.ratio('basalt', 'pgbench', 'per_second').toFixed(2),
      ...['basalt', 'postgrest'].map((peer) => figure(cell.middle(peer, 'server_us'))),
      ...['basalt', 'postgrest', 'pgbench'].map((peer) => figure(cell.middle(peer, 'postgres_us'))),
    ]
  })
  const names = ['workload', 'Basalt', 'PostgREST', 'ratio', 'target', '', 'pgbench', 'of it']
  table(
    [...names, 'server µs', 'PostgREST µs', 'Postgres µs', 'under PostgREST', 'under pgbench'],
    rows,
  )
}

function inPlace(workloads, of) {
  heading(`In PostgREST's place: requests/s and processor time per request, ${usual} connections`)
  const rows = workloads.map((workload) => {
    const cell = of(workload, usual)
    const ratio = cell.ratio('standIn', 'postgrest', 'per_second')
    const target = workload.standInTarget
    return [
      workload.title,
      figure(cell.middle('standIn', 'per_second')),
      ratio.toFixed(2),
      target === undefined ? '' : `≥ ${target}`,
      target === undefined ? '' : mark(ratio >= target),
      figure(cell.middle('standIn', 'server_us')),
      figure(cell.middle('standIn', 'postgres_us')),
    ]
  })
  table(['workload', 'Basalt', 'ratio', 'target', '', 'server µs', 'Postgres µs'], rows)
}

function latency(workloads, connections, of) {
  heading(`Latency in µs, ${connections} ${connections === 1 ? 'connection' : 'connections'}`)
  const rows = workloads.map((workload) => {
    const cell = of(workload, connections)
    const pair = (name) => ['basalt', 'postgrest'].map((peer) => figure(cell.middle(peer, name)))
    const tail = cell.ratio('basalt', 'postgrest', 'p99_us')
    return [
      workload.title,
      cell.ratio('basalt', 'postgrest', 'per_second').toFixed(2),
      ...pair('p50_us'),
      ...pair('p99_us'),
      tail.toFixed(2),
      ...(connections === many ? [mark(tail <= limits.tail)] : []),
    ]
  })
  const names = [
    'workload',
    'requests/s ratio',
    'p50',
    'PostgREST',
    'p99',
    'PostgREST',
    'p99 ratio',
  ]
  table(connections === many ? [...names, `≤ ${limits.tail}`] : names, rows)
}

function checksOf(workload, connections, of) {
  const checks = []
  if (connections.includes(usual)) {
    const cell = of(workload, usual)
    const against = (peer) => cell.ratio('basalt', peer, 'per_second')
    checks.push(
      check(`${workload.id}: requests/s ÷ PostgREST`, against('postgrest'), '≥', workload.target),
    )
    if (workload.standInTarget !== undefined) {
      const ratio = cell.ratio('standIn', 'postgrest', 'per_second')
      checks.push(
        check(
          `${workload.id}: requests/s ÷ PostgREST, in its place`,
          ratio,
          '≥',
          workload.standInTarget,
        ),
      )
    }
    if (workload.limitTarget !== undefined) {
      checks.push(
        check(
          `${workload.id}: requests/s ÷ pgbench`,
          against('pgbench'),
          '≥',
          workload.limitTarget,
        ),
      )
    }
    if (workload.isSmall) {
      const processor = cell.middle('basalt', 'server_us')
      checks.push(
        check(`${workload.id}: server's µs per request`, processor, '≤', limits.processor),
      )
    }
  }
  if (connections.includes(many)) {
    const tail = of(workload, many).ratio('basalt', 'postgrest', 'p99_us')
    checks.push(
      check(`${workload.id}: p99 ÷ PostgREST, ${many} connections`, tail, '≤', limits.tail),
    )
  }
  return checks
}

function check(what, value, relation, target) {
  return {
    what,
    value,
    relation,
    target,
    holds: relation === '≥' ? value >= target : value <= target,
  }
}

function mark(holds) {
  return holds ? '✓' : '✗'
}

/** All turns at one workload with one number of connections. */
class Cell {
  constructor(turns, workload, connections) {
    this.turns = turns.filter(
      (turn) => turn.workload === workload.id && turn.connections === connections,
    )
  }

  /** Returns the median of the rounds. */
  middle(peer, name) {
    return median(this.#of(peer).map((turn) => turn[name]))
  }

  /** Returns the median of the rounds' ratios: both sides of one were measured within seconds of each other. */
  ratio(peer, other, name) {
    const others = this.#of(other)
    return median(this.#of(peer).map((turn, round) => turn[name] / others[round][name]))
  }

  #of(peer) {
    return this.turns.filter((turn) => turn.peer === peer).toSorted((a, b) => a.round - b.round)
  }
}
