import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { load } from '../lib/load.mjs'
import { Postgres } from '../lib/postgres.mjs'
import { figure, heading, row } from '../lib/table.mjs'
import { OWN_TOKEN, address, join, startSockets, tokens, userId } from './sockets.mjs'

/** Users who come back at the same time. */
const USERS = 1000

const SCHEMA = `
  create table public.guests (topic text, user_id uuid, primary key (topic, user_id));
  insert into public.guests select 'bench', ${userId('n')} from generate_series(1, ${USERS}) as n;
  grant select on public.guests to authenticated, anon;
  create policy guests on realtime.messages for select to authenticated using (exists (
    select 1 from public.guests g where g.topic = realtime.topic() and g.user_id = (select auth.uid())));
  analyze public.guests`

/**
 * Users who join a private topic at the same time, as after a restart, while others read through REST.
 * @param {import('../../tests/support/server.mjs').Server} server
 */
export async function joins(server, { seconds }) {
  heading(`${USERS} users who join a private topic at the same time`)
  await (await Postgres.of(server)).sql(SCHEMA)
  const folder = await mkdtemp(path.join(tmpdir(), 'basalt-tokens-'))
  try {
    const file = await tokens(server, folder, USERS)
    const headers = { apikey: server.access.anonKey }
    const reads = (time) =>
      load(
        `${server.access.url}/rest/v1`,
        [{ path: '/guests?select=topic&limit=1', headers, status: 200 }],
        { connections: 1, seconds: time },
      )
    const quiet = await reads(seconds)
    const frame = join({ private: true }, OWN_TOKEN)
    const joinAll = async () => {
      const begun = performance.now()
      const sockets = startSockets(
        address(server),
        ...['--sockets', USERS, '--join', frame, '--tokens', file, '--listen'],
      )
      await once(sockets.stdout, 'data')
      const elapsed = (performance.now() - begun) / 1000
      sockets.stdin.end()
      await once(sockets, 'exit')
      return elapsed
    }
    row('seconds until all have joined, target 2', figure(await joinAll()))
    const [beside, ...times] = await Promise.all([
      reads(3),
      ...[500, 1500].map(async (pause) => {
        await new Promise((resolve) => setTimeout(resolve, pause))
        return joinAll()
      }),
    ])
    row('  the same twice, beside reads of REST', times.map(figure).join(', '))
    row('p99 of reads when it is quiet, ms', figure(quiet.p99_us / 1000))
    row('  beside the joins, target twice that', figure(beside.p99_us / 1000))
  } finally {
    await rm(folder, { recursive: true })
  }
}
