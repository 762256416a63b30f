/** Whom the slow filters of one neither stop nor tell anything. */
import { afterEach, beforeAll, describe, expect, test, vi } from 'vitest'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, unique, Wires } from './stage.ts'
import { change, subscribed, type Binding } from './watch.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

/** A pattern that takes Postgres longer than it may for a long word of the letter a, and the SQL of such a word. */
const SLOW = 'word=match.(?=.*(?=.*b)c)d'
const LONG = `repeat('a', 5000)`
const FAILED = 'filters cannot be evaluated'

describe.skipIf(!isOwn)('slow filters', () => {
  let own: Server
  let log = ''
  beforeAll(async () => {
    own = await start({ BASALT_TRUSTED_PROXIES: '1' })
    for (const stream of [own.process.stdout, own.process.stderr])
      stream.on('data', (chunk: Buffer) => (log += chunk.toString()))
  })

  const sql = (text: string) => own.psql(text)
  const open = (address: string) =>
    wires.add({
      url: own.access.url,
      key: own.access.anonKey,
      headers: { 'x-forwarded-for': address },
    })
  const all = (table: string, more: Binding = {}) => ({
    postgres_changes: [{ event: '*', schema: 'public', table, ...more }],
  })
  const confirmed = async (wire: Wire, room: string) =>
    expect(await wire.system(room)).toEqual(subscribed(room))

  test('of those whom policies stop are not asked about rows that they do not see', async () => {
    await sql(`
      create table public.letters (id int primary key, is_public boolean, word text);
      grant select on public.letters to anon; alter table public.letters enable row level security;
      create policy seen on public.letters for select using (is_public);
      alter publication supabase_realtime add table public.letters`)
    const [wire, room, other] = [await open('192.0.2.1'), unique('room'), unique('room')]
    await wire.mustJoin(room, all('letters'))
    await confirmed(wire, room)
    await wire.mustJoin(other, all('letters', { filter: SLOW }))
    await confirmed(wire, other)
    log = ''
    await sql(`insert into public.letters values (1, false, ${LONG}), (2, true, 'dcb')`)
    expect((await change(wire, room)).record).toMatchObject({ id: 2 })
    expect((await change(wire, other)).record).toMatchObject({ id: 2 })
    // The time that the filter takes of the hidden row would tell what is in it.
    expect(log).not.toContain(FAILED)

    await sql(`insert into public.letters values (3, true, ${LONG})`)
    expect((await change(wire, room)).record).toMatchObject({ id: 3 })
    await vi.waitFor(() => expect(log).toContain(FAILED), 20_000)
  })

  test('of one network leave the trial of filters to others', async () => {
    // A comparison that takes until a lock is free.
    await sql(`
      create type public.mood as enum ('sad');
      create function public.is_equal(a public.mood, b public.mood) returns boolean immutable language plpgsql
        as $$ begin perform pg_advisory_xact_lock_shared(4711); return a::text = b::text; end $$;
      create operator public.= (leftarg = public.mood, rightarg = public.mood, function = public.is_equal);
      create table public.moods (id int primary key, mood public.mood);
      grant select on public.moods to anon; alter publication supabase_realtime add table public.moods`)
    const locking = sql(
      `set application_name = 'holder'; select pg_advisory_lock(4711), pg_sleep(600)`,
    )
    const held = expect(locking).rejects.toThrow()
    const count = (what: string) =>
      sql(`select count(*) from pg_locks where locktype = 'advisory' and ${what}`)
    await vi.waitFor(async () => expect(await count('granted')).toBe('1'), 20_000)
    const busy = await open('192.0.2.2')
    const rooms = Array.from({ length: 6 }, () => unique('busy'))
    for (const room of rooms) await busy.mustJoin(room, all('moods', { filter: 'mood=eq.sad' }))
    await vi.waitFor(async () => expect(await count('not granted')).toBe('3'), 20_000)

    const [wire, room] = [await open('192.0.2.3'), unique('room')]
    await wire.mustJoin(room, all('moods'))
    await confirmed(wire, room)
    expect(await count('granted')).toBe('1')

    await sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'holder'`,
    )
    await held
  }, 90_000)
})
