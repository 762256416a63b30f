/** The stream of the database under failures: nothing is lost, nothing comes twice, and the order is kept. */
import { setTimeout as sleep } from 'node:timers/promises'

import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import { psqlAsSuperuser, type Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, unique, Wires } from './stage.ts'
import { changes, watch } from './watch.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

describe.skipIf(!isOwn)('the stream', () => {
  let own: Server
  const sql = (text: string) => own.psql(text)

  beforeAll(async () => {
    own = await start({ TENANT_MAX_EVENTS_PER_SECOND: '1000000' })
    await sql(`
      create table public.notices (id int primary key, room text);
      create table public.guarded (id int primary key, room text);
      grant select on public.notices, public.guarded to anon;
      alter table public.guarded enable row level security;
      create policy "all" on public.guarded for select using (true);
      alter publication supabase_realtime add table public.notices, public.guarded`)
  })

  const open = () => {
    const { url, anonKey } = own.access
    return wires.add({ url, key: anonKey })
  }

  const keys = (wire: Wire, room: string) =>
    changes(wire, room).map(({ data: { record } }) => record?.id)

  const broadcastNumbers = ({ received }: Wire) =>
    received.filter(({ kind }) => kind === 4).map(({ payload }) => (payload as { n: number }).n)

  /**
   * Writes so many rows, each in a transaction with a broadcast and every `pause` milliseconds, while `harm` is done.
   */
  async function underway(
    count: number,
    harm: () => Promise<unknown>,
    { table = 'notices', pause = 4 } = {},
  ) {
    await sql(`delete from public.${table}`)
    const [wire, room] = [await open(), unique('room')]
    await watch(wire, room, [{ event: 'INSERT', schema: 'public', table }])
    const writing = sql(`
      do $$ begin
        for n in 1..${count} loop
          insert into public.${table} values (n, '${room}');
          perform realtime.send(jsonb_build_object('n', n), 'told', '${room}', false);
          commit;
          perform pg_sleep(${pause / 1000});
        end loop;
      end $$`)
    await sleep(300)
    await harm()
    await writing
    return { wire, room }
  }

  /** Checks that all that was written has come, once and in order. */
  async function isWhole({ wire, room }: { wire: Wire; room: string }, count: number) {
    await vi.waitFor(
      () => {
        expect(keys(wire, room)).toContain(count)
        expect(broadcastNumbers(wire)).toContain(count)
      },
      { timeout: 25_000, interval: 100 },
    )
    await wire.flush()
    const missing = (from: unknown[]) => numbers(count).filter((number) => !from.includes(number))
    expect({
      rows: missing(keys(wire, room)),
      broadcasts: missing(broadcastNumbers(wire)),
    }).toEqual({
      rows: [],
      broadcasts: [],
    })
    expect(keys(wire, room)).toEqual(numbers(count))
    expect(broadcastNumbers(wire)).toEqual(numbers(count))
  }

  // A commit is in the log before other sessions see it, and policies are asked in another session.
  test('misses no row of a table with policies', async () => {
    await isWhole(
      await underway(1500, () => Promise.resolve(), { table: 'guarded', pause: 1 }),
      1500,
    )
  })

  test('goes on where it was when its connection breaks', async () => {
    const end = `select count(pg_terminate_backend(active_pid)) from pg_replication_slots where active`
    const outcome = await underway(400, async () => {
      for (let times = 0; times < 4; times++) {
        await psqlAsSuperuser(own.instance, end)
        await sleep(200)
      }
    })
    await isWhole(outcome, 400)
  })

  test('goes on when the service’s other connections break', async () => {
    const end = `
      select count(pg_terminate_backend(pid)) from pg_stat_activity
      where backend_type = 'client backend' and pid <> pg_backend_pid() and query not like 'do $$%'
        and application_name <> 'psql' and query not like '%for n in 1..%'`
    const outcome = await underway(400, async () => {
      for (let times = 0; times < 4; times++) {
        await psqlAsSuperuser(own.instance, end)
        await sleep(200)
      }
    })
    await isWhole(outcome, 400)
  })

  test('goes on when a transaction waits for another', async () => {
    const outcome = await underway(200, async () => {
      // A long transaction that is open meanwhile, and a change of the table.
      await Promise.all([
        sql(`begin; select txid_current(); select pg_sleep(1); rollback`),
        sql(`alter table public.notices add column if not exists later text`),
      ])
    })
    await isWhole(outcome, 200)
  })

  test('reaches all channels of a crowd', async () => {
    await sql('delete from public.notices')
    const crowd = await Promise.all(numbers(60).map(() => open()))
    const room = unique('room')
    const binding = { event: 'INSERT', schema: 'public', table: 'notices' }
    await Promise.all(crowd.map((wire) => watch(wire, room, [binding])))
    await sql(`insert into public.notices select n, 'x' from generate_series(1, 200) n`)
    for (const wire of crowd) {
      await expect.poll(() => keys(wire, room).length).toBe(200)
      expect(keys(wire, room)).toEqual(numbers(200))
    }
  })
})
