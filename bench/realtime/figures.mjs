import { once } from 'node:events'

import { pgbench } from '../lib/pgbench.mjs'
import { Postgres } from '../lib/postgres.mjs'
import { memory, processorTime } from '../lib/processes.mjs'
import { Program } from '../lib/program.mjs'
import { quiet } from '../lib/quiet.mjs'
import { Running } from '../lib/running.mjs'
import { median } from '../lib/statistics.mjs'
import { figure, heading, row, table } from '../lib/table.mjs'
import { Server } from '../../tests/support/server.mjs'
import { joins } from './joins.mjs'
import { policies } from './policies.mjs'
import { NOW, address, join, message, report, sockets, startSockets } from './sockets.mjs'

/** Sockets that listen to broadcasts, and to row changes. */
const LISTENERS = 1000
const SUBSCRIBERS = 50
/** Sockets that do nothing, for what one of them costs. */
const IDLE = 5000
/** Limits that are too high to be reached. */
const LIMITLESS = String(2 ** 31)

/**
 * Broadcasts beside a bare fan-out, joins, idle sockets, and row changes under row-level security.
 * @param {string} binary
 * @param {{ seconds: number, rounds: number, only: string[] }} how `only` names parts
 */
export async function realtime(binary, how) {
  const env = {
    ...quiet,
    TENANT_MAX_CONCURRENT_USERS: LIMITLESS,
    TENANT_MAX_JOINS_PER_SECOND: LIMITLESS,
    TENANT_MAX_EVENTS_PER_SECOND: LIMITLESS,
  }
  const running = new Running()
  try {
    const server = running.add(await Server.start({ binary, env }))
    const fanout = running.add(await Program.bare('fanout'))
    const parts = {
      broadcasts: () => broadcasts(server, fanout, how),
      idle: () => idle(server),
      changes: () => rowChanges(server, how),
      policies: () => policies(server, how),
      joins: () => joins(server, how),
    }
    for (const [name, measure] of Object.entries(parts)) {
      if (how.only.length === 0 || how.only.includes(name)) await measure()
    }
  } finally {
    await running.stop()
  }
}

/** Messages of 128 bytes to 1,000 sockets: as many as go through, and 100 a second. */
async function broadcasts(server, fanout, { seconds, rounds }) {
  heading(`Broadcasts of ${message.length} bytes and more to ${LISTENERS} sockets`)
  const flags = ['--sockets', LISTENERS, '--seconds', seconds, '--message', message, '--bytes', 192]
  const ours = [address(server), ...flags, '--join', join()]
  const theirs = [fanout.url, ...flags]
  const lines = []
  const ratios = []
  for (let round = 0; round < rounds; round += 1) {
    const [basalt, bare] = [await sockets(...ours), await sockets(...theirs)]
    ratios.push(basalt.deliveries_per_second / bare.deliveries_per_second)
    for (const [name, { deliveries_per_second, joins_per_second, expected, received }] of [
      ['Basalt', basalt],
      ['bare fan-out', bare],
    ]) {
      const lost = expected - received
      lines.push([name, figure(deliveries_per_second), figure(joins_per_second), lost])
    }
  }
  table(['', 'deliveries/s', 'joins/s', 'lost'], lines)
  row('Basalt of the bare fan-out, target 0.7', median(ratios).toFixed(2))
  const steady = []
  for (const [name, parts] of [
    ['Basalt', ours],
    ['bare fan-out', theirs],
  ]) {
    const { p50_milliseconds, p99_milliseconds } = await sockets(...parts, '--rate', 100)
    steady.push([name, figure(p50_milliseconds), figure(p99_milliseconds)])
  }
  table(['100 messages/s', 'p50 ms', 'p99 ms, target 20'], steady)
}

/** Measures what a joined socket that does nothing costs in the server's memory. */
async function idle(server) {
  heading(`${IDLE} sockets that do nothing`)
  const { pid } = server.process
  const [before, begun] = [memory(pid).now, processorTime(pid)]
  const load = startSockets(address(server), '--sockets', IDLE, '--join', join(), '--listen')
  const [line] = await once(load.stdout, 'data')
  const [after, ended] = [memory(pid).now, processorTime(pid)]
  load.stdin.end()
  await once(load, 'exit')
  row('joins/s, target 5000', figure(JSON.parse(String(line)).joins_per_second))
  // The client has one thread, which opens all of them.
  row('processor time of the server for a socket and its join, µs', figure((ended - begun) / IDLE))
  row('bytes of memory for each, target 8192', figure((after - before) / IDLE))
}

/** Inserts of one row each, as fast as they go, to 50 sockets that a policy lets see them. */
async function rowChanges(server, { seconds }) {
  heading(`Row changes to ${SUBSCRIBERS} sockets under row-level security`)
  const database = await Postgres.of(server)
  await database.sql(`create table public.ticks (id bigserial primary key, room int not null, t text not null);
    alter table public.ticks enable row level security;
    create policy rooms on public.ticks for select to anon using (room < 10);
    grant select on public.ticks to anon;
    alter publication supabase_realtime add table public.ticks`)
  const changes = [{ event: 'INSERT', schema: 'public', table: 'ticks' }]
  const load = startSockets(
    address(server),
    ...['--sockets', SUBSCRIBERS, '--join', join({ postgres_changes: changes }), '--listen'],
  )
  await once(load.stdout, 'data')
  await new Promise((resolve) => setTimeout(resolve, 2000))
  const insert = {
    sql: `insert into public.ticks (room, t) values (1, ${NOW})`,
    role: 'service_role',
    writes: true,
  }
  for (const connections of [1, 8]) {
    const before = await report(load)
    const written = await pgbench(database.environment, insert, { connections, seconds })
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const after = await report(load)
    const delivered = (after.received - before.received) / SUBSCRIBERS
    row(`changes/s by ${connections} connections, target 5000`, figure(written.per_second))
    row('  delivered to each socket a second after the last', `${delivered} of ${written.asked}`)
    row('  p50 from the statement to the client, ms, target 5', figure(after.p50_milliseconds))
    row('  p99', figure(after.p99_milliseconds))
  }
  load.stdin.end()
  await once(load, 'exit')
}
