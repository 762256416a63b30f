import { statSync } from 'node:fs'

import { load } from '../lib/load.mjs'
import { pgbench } from '../lib/pgbench.mjs'
import { Postgres } from '../lib/postgres.mjs'
import { memory, processorTime } from '../lib/processes.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { heading, mebibytes, row } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'

const connections = 16

/** The server's query for a list: all visible rows as one JSON array. */
const faqs = { sql: `select coalesce(json_agg(t), '[]') from (select * from faqs limit 1000) t` }

/**
 * Starts this repository's own project on an empty data folder, starts it again, and prints the durations, the server's
 * memory, and how fast it responds to the home page's list of questions.
 * @param {string} binary
 * @param {{ seconds: number, rounds: number }} how
 */
export async function foundation(binary, how) {
  heading('The server by itself')
  const running = new Running()
  try {
    const cold = running.add(await Server.start({ binary, env: quiet }))
    row('cold start on an empty data folder', `${cold.startedIn} ms`)
    await cold.stop({ keepData: true })
    const server = running.add(await Server.start({ binary, env: quiet, dataDir: cold.dataDir }))
    row('warm start', `${server.startedIn} ms`)
    row('binary', mebibytes(statSync(binary).size))
    row('server at rest, RSS', mebibytes(memory(server.process.pid).now))
    heading(`GET /rest/v1/faqs?select=*, anon key, ${connections} connections`)
    await ask(server, how)
    const { now, peak } = memory(server.process.pid)
    row('server after load, RSS', `${mebibytes(now)}, ${mebibytes(peak)} at its peak`)
  } finally {
    await running.stop()
  }
}

/** Reads the questions over HTTP and, in turns, with pgbench: the same SQL over the same socket. */
async function ask(server, { seconds, rounds }) {
  const { url, anonKey } = server.access
  const requests = [{ path: '/rest/v1/faqs?select=*', headers: { apikey: anonKey } }]
  const database = (await Postgres.of(server)).environment
  const turns = []
  for (let round = 0; round < rounds; round += 1) {
    const before = processorTime(server.process.pid)
    const http = await load(url, requests, { connections, seconds })
    const processor = (processorTime(server.process.pid) - before) / http.asked
    const limit = await pgbench(database, faqs, { connections, seconds })
    turns.push({
      ...http,
      processor,
      limit: limit.per_second,
      ratio: http.per_second / limit.per_second,
    })
  }
  const middle = (name) => median(turns.map((turn) => turn[name]))
  row('requests/s', Math.round(middle('per_second')))
  row('pgbench, the same SQL, transactions/s', Math.round(middle('limit')))
  row('ratio', middle('ratio').toFixed(2))
  row('p50, p99', `${middle('p50_us')} µs, ${middle('p99_us')} µs`)
  row('processor time of the server per request', `${Math.round(middle('processor'))} µs`)
}
