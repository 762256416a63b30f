import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

import { load } from '../lib/load.mjs'
import { median, row } from '../lib/table.mjs'

const run = promisify(execFile)
const connections = 16

/**
 * Reads the FAQs over HTTP and, in turns, runs the same SQL with pgbench: prepared, pipelined, over the same unix
 * socket, as the same role and with the same settings.
 */
export async function faqs(server, { seconds, rounds }) {
  const { url, anonKey } = server.access
  const postgres = await connection(server)
  const figures = []
  for (let round = 0; round < rounds; round += 1) {
    const before = server.processorTime()
    const http = await load(`${url}/rest/v1/faqs?select=*`, { headers: { apikey: anonKey }, connections, seconds })
    const processor = server.processorTime() - before
    const limit = await pgbench(postgres, seconds)
    figures.push({ ...http, limit, ratio: http.per_second / limit, processor: (processor * 1000) / http.requests })
  }
  const middle = (name) => median(figures.map((round) => round[name]))
  row('requests/s', Math.round(middle('per_second')))
  row('pgbench, the same SQL, transactions/s', Math.round(middle('limit')))
  row('ratio', middle('ratio').toFixed(2))
  row('p50, p99', `${middle('p50_us')} µs, ${middle('p99_us')} µs`)
  row("server's processor time per request, warm-up included", `${Math.round(middle('processor'))} µs`)
}

/** How pgbench reaches the server's Postgres: its own unix socket, as the superuser. */
async function connection(server) {
  const [folder, port] = (
    await server.psql("select split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port')")
  ).split('|')
  return { PGHOST: folder, PGPORT: port, PGUSER: 'postgres', PGDATABASE: 'postgres', PGPASSWORD: await server.password() }
}

async function pgbench(postgres, seconds) {
  const script = path.join(import.meta.dirname, 'faqs.sql')
  const flags = ['-n', '-M', 'prepared', '-c', String(connections), '-j', '2', '-T', String(seconds), '-f', script]
  const { stdout } = await run(process.env.PGBENCH ?? 'pgbench', flags, { env: { ...process.env, ...postgres } })
  return Number(/tps = ([\d.]+)/.exec(stdout)[1])
}
