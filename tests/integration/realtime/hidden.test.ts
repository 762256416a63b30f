/** What policies hide of rows stays hidden when they change, also with `replica identity full`. */
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { isOwn, moment, signed, inSeconds, somebody, sql, unique, Wires } from './stage.ts'
import { change, changes, ended, subscribed, unsubscribed, watch, type Binding } from './watch.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const SCHEMA = 'rt_hidden'
const secret = 'the secret that the server of these tests shares'

/** Returns the SQL of a table whose rows belong to their owners, but for those that are public. */
const guarded = (name: string, roles: string) => `
  create table ${name} (id int primary key, owner text, is_public boolean, body text, pin int);
  grant select on ${name} to ${roles};
  alter table ${name} replica identity full; alter table ${name} enable row level security;
  create policy own on ${name} for select using (is_public or owner = auth.uid()::text);
  alter publication supabase_realtime add table ${name}`

/** Filters that hold for the hidden row below. */
const PROBES = [
  'body=eq.the hidden words',
  'body=like.the h%',
  'body=ilike.THE%',
  'body=match.^the hid',
  'body=neq.x',
  'body=in.(x,the hidden words)',
  'body=not.is.null',
  'body=isdistinct.x',
  'pin=gt.4000',
  'pin=eq.4711',
  'id=gt.0,pin=gt.4000',
  'owner=not.is.null',
]

/** A pattern that takes Postgres longer than it may for a long word of the letter a, and the SQL of such a word. */
const SLOW = '(?=.*(?=.*b)c)d'
const LONG = `'the s' || repeat('a', 5000)`
const FAILED = 'Unable to subscribe to changes: the filter cannot be evaluated'

describe.skipIf(!isOwn)('of rows that policies hide', () => {
  const table = 'letters'
  const name = `${SCHEMA}.${table}`
  const place = { schema: SCHEMA, table }
  /** Emptying a table is told to nobody, so that the next test hears nothing of it. */
  const EMPTY = `truncate ${name}`
  const hidden = `'somebody', false, 'the hidden words', 4711`

  beforeAll(async () => {
    await sql(`create schema ${SCHEMA};
      grant usage on schema ${SCHEMA} to anon, authenticated, service_role;
      ${guarded(name, 'anon, authenticated, service_role')}`)
  })
  afterAll(async () => {
    await sql(`drop schema ${SCHEMA} cascade`)
  })

  async function watching(
    binding: Binding,
    person: { token?: string } = {},
  ): Promise<{ wire: Wire; room: string }> {
    const [wire, room] = [await wires.add(), unique('room')]
    await watch(wire, room, [binding], person)
    return { wire, room }
  }

  test('no filter of a deletion tells anything but the key', async () => {
    const person = await somebody()
    const wire = await wires.add()
    const rooms = new Map<string, string>()
    for (const filter of [...PROBES, 'id=eq.1', 'id=lt.2', '']) {
      const room = unique('probe')
      rooms.set(filter, room)
      await watch(wire, room, [{ event: 'DELETE', ...place, filter }], person)
    }
    await sql(`insert into ${name} values (1, ${hidden})`)
    await sql(`delete from ${name} where id = 1`)
    for (const filter of ['id=eq.1', 'id=lt.2', ''])
      expect((await change(wire, rooms.get(filter) ?? '')).old_record).toEqual({ id: 1 })
    await wire.flush()
    await moment()
    for (const filter of PROBES) expect(changes(wire, rooms.get(filter) ?? ''), filter).toEqual([])
  })

  test('no deletion of one’s own is told by other columns, either: nobody knows whose it was', async () => {
    const person = await somebody()
    const { wire, room } = await watching(
      { event: 'DELETE', ...place, filter: `owner=eq.${person.id}` },
      person,
    )
    const all = await watching({ event: 'DELETE', ...place }, person)
    await sql(`insert into ${name} values (2, '${person.id}', false, 'mine', 1)`)
    await sql(`delete from ${name} where id = 2`)
    expect((await change(all.wire, all.room)).old_record).toEqual({ id: 2 })
    expect(changes(wire, room)).toEqual([])
  })

  test('an update that shows a row tells its new content and nothing of the old', async () => {
    const person = await somebody()
    const { wire, room } = await watching({ event: '*', ...place }, person)
    const service = await watching(
      { event: 'INSERT', ...place },
      { token: inject('access').serviceKey },
    )
    await sql(`insert into ${name} values (3, ${hidden})`)
    // Policies are asked about a row as it is then: the update must not come before that.
    await change(service.wire, service.room)
    await sql(`update ${name} set is_public = true, body = 'words for all', pin = 1 where id = 3`)
    const told = await change(wire, room)
    expect(told).toMatchObject({
      type: 'UPDATE',
      record: { id: 3, is_public: true, body: 'words for all' },
      old_record: { id: 3 },
    })
    expect(told.old_record).toEqual({ id: 3 })
    expect(JSON.stringify(told)).not.toMatch(/hidden words|4711/)
    // One that hides it again tells nothing.
    await sql(`update ${name} set is_public = false, body = 'hidden once more' where id = 3`)
    await sql(`delete from ${name} where id = 3`)
    expect(await change(wire, room)).toMatchObject({ type: 'DELETE', old_record: { id: 3 } })
  })

  test('filters of updates are asked about the new row, also where the old one passed', async () => {
    const person = await somebody()
    const { wire, room } = await watching(
      { event: 'UPDATE', ...place, filter: 'body=match.^the hid' },
      person,
    )
    const all = await watching({ event: 'UPDATE', ...place }, person)
    await sql(`insert into ${name} values (4, ${hidden})`)
    await sql(`update ${name} set is_public = true, body = 'changed' where id = 4`)
    expect((await change(all.wire, all.room)).record).toMatchObject({ id: 4 })
    expect(changes(wire, room)).toEqual([])
    await sql(EMPTY)
  })

  test('those whom no policy stops are told all', async () => {
    const { wire, room } = await watching(
      { event: '*', ...place, filter: 'body=match.^the hid' },
      { token: inject('access').serviceKey },
    )
    await sql(`insert into ${name} values (5, ${hidden})`)
    expect(await change(wire, room)).toMatchObject({ type: 'INSERT' })
    await sql(`update ${name} set pin = 4712 where id = 5`)
    expect((await change(wire, room)).old_record).toMatchObject({
      body: 'the hidden words',
      pin: 4711,
    })
    await sql(`delete from ${name} where id = 5`)
    expect(await change(wire, room)).toMatchObject({ type: 'DELETE', old_record: { id: 5 } })
  })

  test('two who see different parts of one change get different messages', async () => {
    const service = await watching(
      { event: 'UPDATE', ...place },
      { token: inject('access').serviceKey },
    )
    const user = await watching({ event: 'UPDATE', ...place }, await somebody())
    await sql(`insert into ${name} values (6, 'somebody', true, 'before', 1)`)
    await sql(`update ${name} set body = 'after' where id = 6`)
    expect((await change(service.wire, service.room)).old_record).toMatchObject({ body: 'before' })
    expect((await change(user.wire, user.room)).old_record).toEqual({ id: 6 })
    await sql(EMPTY)
  })

  test('a replica identity by another index tells no more of deletions', async () => {
    const other = `${SCHEMA}.indexed`
    await sql(`
      create table ${other} (id int primary key, code text not null unique);
      grant select on ${other} to authenticated;
      alter table ${other} replica identity using index indexed_code_key;
      alter table ${other} enable row level security;
      alter publication supabase_realtime add table ${other}`)
    const person = await somebody()
    const wire = await wires.add()
    const [all, byCode] = [unique('room'), unique('room')]
    const binding = { event: 'DELETE', schema: SCHEMA, table: 'indexed' }
    await watch(wire, all, [binding], person)
    await watch(wire, byCode, [{ ...binding, filter: 'code=like.s%' }], person)
    await sql(`insert into ${other} values (1, 'secret')`)
    await sql(`delete from ${other}`)
    expect((await change(wire, all)).old_record).toEqual({})
    expect(changes(wire, byCode)).toEqual([])
  })

  test('a filter that fails on a hidden row tells nothing of it', async () => {
    const wire = await wires.add()
    const [probe, other, byKey, all] = ['probe', 'other', 'key', 'all'].map(unique) as [
      string,
      string,
      string,
      string,
    ]
    const person = await somebody()
    for (const [room, filter] of [
      [probe, `body=like.the s%,body=match.${SLOW}`],
      [other, `body=like.the t%,body=match.${SLOW}`],
      [byKey, `id=gt.0,body=match.${SLOW}`],
      [all, ''],
    ] as const)
      await watch(wire, room, [{ event: '*', ...place, filter }], person)
    const told = () =>
      wire.received.filter(
        ({ topic, event, payload }) =>
          [probe, other, byKey].some((room) => topic === `realtime:${room}`) &&
          (event === 'postgres_changes' ||
            (event === 'system' && (payload as { status: string }).status !== 'ok')),
      )

    await sql(`insert into ${name} values (20, 'somebody', false, ${LONG}, 1)`)
    await sql(`update ${name} set pin = 2 where id = 20`)
    await sql(`insert into ${name} values (21, 'somebody', true, 'seen', 1)`)
    expect((await change(wire, all)).record).toMatchObject({ id: 21 })
    await sql(`delete from ${name} where id = 20`)
    expect((await change(wire, all)).old_record).toEqual({ id: 20 })
    expect(told()).toEqual([])

    // Of rows that it sees, the subscriber is told what passes, and what fails.
    await sql(`insert into ${name} values (22, 'somebody', true, 'the s dcb', 1)`)
    for (const room of [probe, byKey, all])
      expect((await change(wire, room)).record).toMatchObject({ id: 22 })
    await sql(`insert into ${name} values (23, 'somebody', true, ${LONG}, 1)`)
    for (const room of [probe, byKey])
      expect(await ended(wire, room)).toEqual(unsubscribed(room, FAILED))
    expect((await change(wire, all)).record).toMatchObject({ id: 23 })
    expect(told()).toEqual([])
    await sql(EMPTY)
  })

  test('rows that are emptied out are not told', async () => {
    const { wire, room } = await watching({ event: '*', ...place }, await somebody())
    await sql(`insert into ${name} values (7, ${hidden}); truncate ${name}`)
    await sql(`insert into ${name} values (8, 'somebody', true, 'seen', 1)`)
    expect(await change(wire, room)).toMatchObject({ type: 'INSERT', record: { id: 8 } })
    await sql(EMPTY)
  })

  test('a filter tells nothing any more when its column may not be read any more', async () => {
    const narrow = `${SCHEMA}.narrow`
    await sql(`create table ${narrow} (id int primary key, body text);
      grant select on ${narrow} to authenticated, service_role;
      alter table ${narrow} replica identity full;
      alter publication supabase_realtime add table ${narrow}`)
    const binding = { event: '*', schema: SCHEMA, table: 'narrow', filter: 'body=like.h%' }
    const user = await watching(binding, await somebody())
    const service = await watching(binding, { token: inject('access').serviceKey })
    await sql(`insert into ${narrow} values (1, 'hello')`)
    for (const { wire, room } of [user, service])
      expect((await change(wire, room)).record).toEqual({ id: 1, body: 'hello' })
    await sql(`begin; revoke select on ${narrow} from authenticated;
      grant select (id) on ${narrow} to authenticated;
      insert into ${narrow} values (2, 'hidden'); delete from ${narrow} where id = 2; commit`)
    for (const type of ['INSERT', 'DELETE'])
      expect(await change(service.wire, service.room)).toMatchObject({ type })
    expect(changes(user.wire, user.room)).toEqual([])
  })
})

describe.skipIf(!isOwn)('if the project asks for it', () => {
  let own: Server
  beforeAll(async () => {
    own = await start({ JWT_SECRET: secret }, '[basalt.realtime]\nold_rows_bypass_rls = true\n')
    await own.psql(guarded('public.letters', 'anon, authenticated'))
  })

  test('old rows are told as hosted tells them', async () => {
    const key = signed({ role: 'authenticated', exp: inSeconds(3600) }, secret)
    const wire = await wires.add({ url: own.access.url, key })
    const [room, byBody] = [unique('room'), unique('room')]
    const binding = { event: '*', schema: 'public', table: 'letters' }
    for (const [channel, postgres_changes] of [
      [room, [binding]],
      [byBody, [{ ...binding, event: 'DELETE', filter: 'body=like.sh%' }]],
    ] as const) {
      await wire.mustJoin(channel, { postgres_changes })
      expect(await wire.system(channel)).toEqual(subscribed(channel))
    }
    const service = await wires.add({ url: own.access.url, key: own.access.serviceKey })
    await watch(service, room, [{ ...binding, event: 'INSERT' }])
    await own.psql(`insert into public.letters values (1, null, false, 'hidden', 1)`)
    // Policies are asked about a row as it is then: the update must not come before that.
    await change(service, room)
    await own.psql(`update public.letters set is_public = true, body = 'shown'`)
    expect((await change(wire, room)).old_record).toMatchObject({ body: 'hidden' })
    await own.psql(`delete from public.letters`)
    expect((await change(wire, room)).old_record).toEqual({ id: 1 })
    expect((await change(wire, byBody)).old_record).toEqual({ id: 1 })
  })
})
