import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import path from 'node:path'

import { load } from '../lib/load.mjs'
import { pgbench } from '../lib/pgbench.mjs'
import { memory, processorTime, treeProcessorTime } from '../lib/processes.mjs'
import { heading } from '../lib/table.mjs'
import { report } from './report.mjs'
import { pool, Stage } from './stage.mjs'
import { differences, rehearse } from './verify.mjs'
import { workloads } from './workloads.mjs'

const results = path.resolve(import.meta.dirname, '../results')

/**
 * What one server did in one turn. Processor times are of the whole turn, its warm-up included, per request.
 * @typedef {object} Turn
 * @property {string} workload
 * @property {'basalt' | 'standIn' | 'postgrest' | 'pgbench'} peer
 * @property {number} connections
 * @property {number} per_second
 * @property {number} [p50_us]
 * @property {number} [p99_us]
 * @property {number} [server_us] processor time of the server
 * @property {number} postgres_us processor time of Postgres
 */

/**
 * Measures Basalt, PostgREST and bare SQL in turns on one database, prints the ratios, and writes all figures into
 * `bench/results`. Returns whether both servers gave the same responses.
 * @param {string} binary Basalt's
 * @param {{ seconds: number, rounds: number, connections: number[], only: string[] }} how
 */
export async function rest(binary, how) {
  const chosen = workloads.filter(({ id }) => how.only.length === 0 || how.only.includes(id))
  const unknown = how.only.filter((id) => !workloads.some((workload) => workload.id === id))
  if (unknown.length > 0) {
    throw new Error(
      `BENCH_ONLY: expected ${workloads.map(({ id }) => id).join(', ')}, found ${unknown.join(', ')}`,
    )
  }
  heading('REST beside PostgREST and bare SQL: making the database …')
  const stage = await Stage.start(binary)
  try {
    const mismatches = await compare(stage, chosen)
    const turns = await measure(stage, chosen, how)
    const peaks = {
      basalt: memory(stage.basalt.pid).peak,
      postgrest: memory(stage.postgrest.pid).peak,
    }
    const figures = { how: { ...how, pool }, machine: machine(stage), peaks, mismatches, turns }
    figures.checks = report(chosen, figures)
    save(figures)
    return mismatches.length === 0
  } finally {
    await stage.stop()
  }
}

/** Finds wrong statuses (which throw) and different responses before time is spent on measuring them. */
async function compare(stage, chosen) {
  const mismatches = []
  for (const workload of chosen) {
    if (workload.isRead) mismatches.push(...(await differences(stage, workload)))
    for (const peer of [stage.basalt, stage.postgrest, stage.standIn]) {
      await rehearse(peer, stage.requestsFor(peer, workload))
    }
  }
  for (const mismatch of mismatches) process.stderr.write(`error: ${mismatch}\n`)
  return mismatches
}

/** Measures the peers in turn, in another order each round, so that changes of the machine affect all of them. */
async function measure(stage, chosen, { rounds, connections, seconds }) {
  /** @type {Turn[]} */
  const turns = []
  const total = rounds * connections.length * chosen.length
  for (let round = 0; round < rounds; round += 1) {
    if (!process.stderr.isTTY) process.stderr.write(`round ${round + 1} of ${rounds} …\n`)
    for (const workload of chosen) {
      for (const count of connections) {
        progress(
          `${Math.floor(turns.length / 4) + 1} of ${total}: ${workload.title}, ${count} connections`,
        )
        const peers = ['basalt', 'standIn', 'postgrest', 'pgbench']
        for (const peer of [...peers.slice(round % 4), ...peers.slice(0, round % 4)]) {
          const how = { connections: count, seconds }
          turns.push({
            workload: workload.id,
            peer,
            ...how,
            round,
            ...(await turn(stage, workload, peer, how)),
          })
        }
      }
    }
  }
  progress('')
  return turns
}

async function turn(stage, workload, name, how) {
  if (workload.prepare !== undefined) await stage.admin.sql(workload.prepare)
  const peer = stage[name]
  const before = processorTimes(stage, peer)
  const figures =
    peer === undefined
      ? await pgbench(stage.login.environment, workload.limit, how)
      : await load(peer.url, stage.requestsFor(peer, workload), how)
  const after = processorTimes(stage, peer)
  if (workload.inserts !== undefined) {
    await checkRows(stage, workload.inserts, figures.asked, `${name}, ${workload.id}`)
  }
  return {
    ...figures,
    server_us: peer && (after.server - before.server) / figures.asked,
    postgres_us: (after.postgres - before.postgres) / figures.asked,
  }
}

/** Checks that every insert that was acknowledged is there, and nothing else. */
async function checkRows(stage, { table, rows }, requests, what) {
  const expected = requests * rows
  const found = Number(await stage.admin.sql(`select count(*) from ${table}`))
  if (found !== expected) throw new Error(`${what}: expected ${expected} rows, found ${found}`)
}

function processorTimes(stage, peer) {
  return { server: peer && processorTime(peer.pid), postgres: treeProcessorTime(stage.postgresPid) }
}

function machine(stage) {
  const [{ model }] = cpus()
  return {
    date: new Date().toISOString(),
    processor: model,
    processors: cpus().length,
    memory: totalmem(),
    kernel: release(),
    postgres: stage.postgresVersion,
  }
}

function save(figures) {
  mkdirSync(results, { recursive: true })
  const file = path.join(results, `rest-${figures.machine.date.replaceAll(/[:.]/g, '-')}.json`)
  writeFileSync(file, `${JSON.stringify(figures, undefined, 2)}\n`)
  process.stdout.write(`\nAll figures: ${path.relative(process.cwd(), file)}\n`)
}

/** Shows what is being done, on a terminal only. */
function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}
