import path from 'node:path'

import { load } from '../lib/load.mjs'
import { memory } from '../lib/processes.mjs'
import { median, slope } from '../lib/statistics.mjs'
import { figure, heading, mebibytes, row, table } from '../lib/table.mjs'
import { Stage } from './stage.mjs'
import { workloads } from './workloads.mjs'

const connections = 16
/** Seconds between two measurements of the memory. */
const slice = 10
/** The weight of each workload in the mix of requests; large responses are rare, as in practice. */
const weights = { 'list-1000': 1, bulk: 1, 'bulk-plain': 1, count: 2 }
const usualWeight = 10
/** Growth in the second half that is not taken for a leak, in MiB an hour. */
const steady = 6
/** Turns of the server and of a fresh one at the end, and the least relative speed of the older one. */
const turns = 8
const slowest = 0.9

/**
 * Loads Basalt with a mix of all workloads, prints how its memory and speed went, and how fast it is in the end beside a
 * Basalt that was just started on the same database: a machine's own speed moves too much to compare the end with the
 * beginning. Returns whether memory and speed stayed.
 */
async function soak(binary, seconds) {
  const stage = await Stage.start(binary, { withPostgREST: false })
  try {
    const turn = async (peer) => {
      await stage.admin.sql('truncate check_ins, visits')
      const requests = mixed(stage, peer)
      const figures = await load(peer.url, requests, { connections, seconds: slice, warmup: 0 })
      return { memory: memory(peer.pid).now, ...figures }
    }
    heading(`All workloads mixed, ${connections} connections, ${seconds} s`)
    const samples = []
    const begin = performance.now()
    while (performance.now() - begin < seconds * 1000) {
      const figures = await turn(stage.basalt)
      samples.push({ at: (performance.now() - begin) / 1000, ...figures })
    }
    course(samples)
    heading('Summary')
    const isSteady = kept(samples, memory(stage.basalt.pid).peak)
    const fresh = await stage.another(binary)
    await turn(fresh)
    const [old, young] = [[], []]
    for (let count = 0; count < turns; count += 1) {
      // The order alternates, so that neither server gains by it.
      const pair = [
        { peer: stage.basalt, speeds: old },
        { peer: fresh, speeds: young },
      ]
      for (const { peer, speeds } of count % 2 === 0 ? pair : pair.toReversed()) {
        const { per_second } = await turn(peer)
        speeds.push(per_second)
      }
    }
    const ratio = median(old.map((speed, count) => speed / young[count]))
    row('requests/s ÷ those of a Basalt just started', ratio.toFixed(2))
    return isSteady && ratio >= slowest
  } finally {
    await stage.stop()
  }
}

/** Returns every workload's requests to `peer`, with the weights of the mix. */
function mixed(stage, peer) {
  return workloads.map((workload) => {
    // The first alone: a workload of many requests would outweigh the others.
    const [request] = stage.requestsFor(peer, workload)
    return { ...request, weight: weights[workload.id] ?? usualWeight }
  })
}

function course(samples) {
  const every = Math.max(1, Math.floor(samples.length / 20))
  table(
    ['second', 'memory', 'requests/s', 'p50 µs', 'p99 µs'],
    samples
      .filter((_, index) => index % every === 0 || index === samples.length - 1)
      .map((sample) => [
        Math.round(sample.at),
        mebibytes(sample.memory),
        figure(sample.per_second),
        sample.p50_us,
        sample.p99_us,
      ]),
  )
}

/** Reports whether the memory was constant in the second half, within its noise. */
function kept(samples, peak) {
  const half = samples.slice(Math.floor(samples.length / 2))
  const { growth, error } = slope(half.map(({ at, memory }) => [at / 3600, memory / 2 ** 20]))
  row(
    'requests',
    samples.reduce((sum, sample) => sum + sample.asked, 0),
  )
  row('peak memory', mebibytes(peak))
  row('memory in the second half, MiB an hour', `${growth.toFixed(1)} ± ${error.toFixed(1)}`)
  return growth - 2 * error <= steady
}

const [binary] = process.argv.slice(2)
if (binary === undefined) {
  process.stderr.write('usage: bench/soak BINARY\n')
  process.exit(2)
}
try {
  const isSteady = await soak(path.resolve(binary), Number(process.env.BENCH_SECONDS ?? 600))
  process.exitCode = isSteady ? 0 : 1
} catch (error) {
  process.stderr.write(`bench: ${error.message}\n`)
  process.exitCode = 1
}
