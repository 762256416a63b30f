import path from 'node:path'

import { load } from '../lib/load.mjs'
import { memory } from '../lib/processes.mjs'
import { median, slope } from '../lib/statistics.mjs'
import { figure, heading, mebibytes, row, table } from '../lib/table.mjs'
import { Stage } from './stage.mjs'
import { workloads } from './workloads.mjs'

const connections = 16
/** Seconds between two looks at the memory. */
const slice = 10
/** What of the requests each workload is; large answers are as rare as they are in life. */
const weights = { 'list-1000': 1, bulk: 1, 'bulk-plain': 1, count: 2 }
const usualWeight = 10
/** Growth in the second half that is taken for noise, in MiB an hour. */
const steady = 6

/** Loads Basalt with a mix of all workloads and prints how its memory and speed went. */
async function soak(binary, seconds) {
  const stage = await Stage.start(binary, { withPostgREST: false })
  try {
    const { basalt } = stage
    const requests = workloads.map((workload) => {
      // The first alone: a workload of many requests would outweigh the others.
      const [request] = workload.requests(stage.token)
      const headers = { ...basalt.headers, ...request.headers }
      return { ...request, headers, weight: weights[workload.id] ?? usualWeight }
    })
    heading(`All workloads mixed, ${connections} connections, ${seconds} s`)
    const samples = []
    const begin = performance.now()
    while (performance.now() - begin < seconds * 1000) {
      await stage.admin.sql('truncate check_ins, visits')
      const figures = await load(basalt.url, requests, { connections, seconds: slice, warmup: 0 })
      samples.push({
        at: (performance.now() - begin) / 1000,
        memory: memory(basalt.pid).now,
        ...figures,
      })
    }
    return summary(samples, memory(basalt.pid).peak)
  } finally {
    await stage.stop()
  }
}

function summary(samples, peak) {
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
  const half = samples.slice(Math.floor(samples.length / 2))
  const growth = (slope(half.map(({ at, memory }) => [at / 3600, memory])) || 0) / 2 ** 20
  const speed = (part) => median(part.map((sample) => sample.per_second))
  const tenth = Math.max(1, Math.floor(samples.length / 10))
  const kept = speed(samples.slice(-tenth)) / speed(samples.slice(0, tenth))
  heading('Summary')
  row(
    'requests',
    samples.reduce((sum, sample) => sum + sample.asked, 0),
  )
  row('peak memory', mebibytes(peak))
  row('memory in the second half, slope', `${growth.toFixed(2)} MiB an hour`)
  row('requests/s, last tenth ÷ first tenth', kept.toFixed(2))
  return growth <= steady
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
