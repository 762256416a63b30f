import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { pgbench } from '../lib/pgbench.mjs'
import { Postgres } from '../lib/postgres.mjs'
import { processorTime, treeProcessorTime } from '../lib/processes.mjs'
import { figure, heading, row } from '../lib/table.mjs'
import {
  NOW,
  OWN_TOKEN,
  address,
  join,
  received,
  report,
  startSockets,
  tokens,
  userId,
} from './sockets.mjs'

/** Rows that one statement inserts where as many as possible are written. */
const BATCH = 20
/** Rooms, and the members of each. */
const ROOMS = 100
const MEMBERS = 10

/** How many users watch a table of which each may see their own rows, and how many rows a second should arrive. */
const OWN_ROWS = [
  [50, 5000],
  [1000, 3000],
  [10_000, 1000],
]

const SCHEMA = `
  create table public.own (id bigserial primary key, owner uuid not null, t text not null);
  alter table public.own enable row level security;
  create policy own on public.own for select to authenticated using (owner = (select auth.uid()));
  create table public.members (room int, user_id uuid, primary key (room, user_id));
  insert into public.members select r, ${userId(`(r - 1) * ${MEMBERS} + m`)}
    from generate_series(1, ${ROOMS}) as r, generate_series(1, ${MEMBERS}) as m;
  create table public.posts (id bigserial primary key, room int not null, t text not null);
  alter table public.posts enable row level security;
  create policy members on public.posts for select to authenticated using (exists (
    select 1 from public.members m where m.room = posts.room and m.user_id = (select auth.uid())));
  grant select on public.own, public.posts, public.members to authenticated;
  alter publication supabase_realtime add table public.own, public.posts;
  analyze public.members`

/**
 * Row changes to many users, each of whom has a token and sees other rows.
 * @param {import('../../tests/support/server.mjs').Server} server
 */
export async function policies(server, { seconds }) {
  const database = await Postgres.of(server)
  await database.sql(SCHEMA)
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-tokens-'))
  try {
    for (const [users, target] of OWN_ROWS) {
      heading(`Row changes to ${users} users, each of whom sees their own rows`)
      await measure(server, database, seconds, {
        users,
        target,
        table: 'own',
        readers: 1,
        rows: (count) =>
          `insert into public.own (owner, t) select ${userId(`1 + floor(random() * ${users})::int`)}, ${NOW}
             from generate_series(1, ${count})`,
        tokens: await tokens(server, folder, users),
      })
    }
    const users = ROOMS * MEMBERS
    heading(`Row changes to ${users} users in ${ROOMS} rooms, each of whom sees the rows of one`)
    await measure(server, database, seconds, {
      users,
      target: 1000,
      table: 'posts',
      readers: MEMBERS,
      rows: (count) =>
        `insert into public.posts (room, t) select 1 + floor(random() * ${ROOMS})::int, ${NOW}
           from generate_series(1, ${count})`,
      tokens: await tokens(server, folder, users),
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function measure(server, database, seconds, { users, target, table, readers, rows, ...how }) {
  const changes = [{ event: 'INSERT', schema: 'public', table }]
  const frame = join({ postgres_changes: changes }, OWN_TOKEN)
  const load = startSockets(
    address(server),
    ...['--sockets', users, '--join', frame, '--tokens', how.tokens, '--listen'],
  )
  const begun = performance.now()
  await once(load.stdout, 'data')
  // Each socket is told that its subscription stands.
  await received(load, users, 2000)
  row('seconds until all are subscribed', figure((performance.now() - begun) / 1000))
  const script = (count) => ({ sql: rows(count), role: 'service_role', writes: true })

  const slow = await pgbench(database.environment, script(1), { connections: 1, seconds, rate: 50 })
  await new Promise((resolve) => setTimeout(resolve, 300))
  const steady = await report(load)
  row(`p50 of ${figure(slow.per_second)} rows/s, ms, target 5`, figure(steady.p50_milliseconds))
  row('  p99', figure(steady.p99_milliseconds))

  for (const [connections, batch] of [
    [1, 1],
    [4, BATCH],
  ]) {
    const [before, postgres, basalt] = [await report(load), ...processors(server)]
    const started = performance.now()
    const written = await pgbench(database.environment, script(batch), { connections, seconds })
    const count = written.asked * batch
    const whole = before.received + count * readers
    const after = await received(load, whole)
    const elapsed = (performance.now() - started) / 1000
    const used = processors(server)
    row(`rows/s written by ${connections} connections`, figure(written.per_second * batch))
    row(`  delivered rows/s until the last, target ${target}`, figure(count / elapsed))
    row('  messages that are lost', whole - after.received)
    row('  p50, ms', figure(after.p50_milliseconds))
    row(
      '  processor time a row, Postgres with the writers, µs',
      figure((used[0] - postgres) / count),
    )
    row('  processor time a row, server, µs', figure((used[1] - basalt) / count))
  }
  load.stdin.end()
  await once(load, 'exit')
}

/** Returns the processor time of Postgres, which the server has started, and of the server alone. */
function processors({ process: { pid } }) {
  return [treeProcessorTime(pid) - processorTime(pid), processorTime(pid)]
}
