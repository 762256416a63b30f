/** Who gets changes: rights to tables and columns, and policies. */
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { isOwn, moment, somebody, sql, token, unique, Wires } from './stage.ts'
import { change, changes, subscribed, unsubscribed, watch, type Change } from './watch.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const SCHEMA = 'rt_rights'

const notes = `
  create schema ${SCHEMA}; grant usage on schema ${SCHEMA} to anon, authenticated, service_role;
  create table ${SCHEMA}.notes (id int primary key, owner uuid, body text);
  grant select on ${SCHEMA}.notes to anon, authenticated, service_role;
  alter table ${SCHEMA}.notes enable row level security;
  create policy "one's own" on ${SCHEMA}.notes for select to authenticated
    using (owner = auth.uid() or (auth.jwt() ->> 'reads_all')::boolean);
  create table ${SCHEMA}.columns (id int primary key, name text, secret text);
  grant select (id, name) on ${SCHEMA}.columns to authenticated;
  grant select on ${SCHEMA}.columns to service_role;
  alter publication supabase_realtime add table ${SCHEMA}.notes, ${SCHEMA}.columns`

describe.skipIf(!isOwn)('a change is told', () => {
  const [table, columns] = ['notes', 'columns']
  const name = `${SCHEMA}.${table}`
  const everything = { event: '*', schema: SCHEMA, table }

  beforeAll(async () => {
    await sql(notes)
  })
  afterAll(async () => {
    await sql(`drop schema ${SCHEMA} cascade`)
  })

  /** Returns the keys of the changes that have come. */
  const changeKeys = (wire: Wire, room: string) =>
    changes(wire, room).map(({ data: { type, record, old_record } }) => [
      type,
      (record ?? old_record)?.id,
    ])

  async function reader(person: { token: string }, bindings: object[] = [everything]) {
    const [wire, room] = [await wires.add(), unique('room')]
    await watch(wire, room, bindings, person)
    return { wire, room, changes: () => changeKeys(wire, room) }
  }

  test('to those who may see the row', async () => {
    const [ann, ben] = [await somebody(), await somebody()]
    const anns = await reader(ann)
    const bens = await reader(ben)
    const visitors = await reader({ token: inject('access').anonKey })
    const services = await reader({ token: inject('access').serviceKey })
    const all = await reader({ token: await token({ sub: ann.id, reads_all: true }) })
    await sql(
      `insert into ${name} values (1, '${ann.id}', 'a'), (2, '${ben.id}', 'b'), (3, null, 'c')`,
    )
    await sql(`update ${name} set body = 'd' where id in (1, 2)`)
    // Now it is Ben's.
    await sql(`update ${name} set owner = '${ben.id}' where id = 1`)
    // A row that is gone when its change is looked at is told to nobody.
    for (const { changes: told } of [services, all])
      await expect.poll(told).toContainEqual(['INSERT', 3])
    await sql(`delete from ${name} where id = 3`)
    const whole = [
      ['INSERT', 1],
      ['INSERT', 2],
      ['INSERT', 3],
      ['UPDATE', 1],
      ['UPDATE', 2],
      ['UPDATE', 1],
      ['DELETE', 3],
    ]
    await expect.poll(services.changes).toEqual(whole)
    await expect.poll(all.changes).toEqual(whole)
    // Policies see the row as it is when a change is checked, so who gets its first changes depends on the time.
    await expect.poll(() => anns.changes().at(-1)).toEqual(['DELETE', 3])
    await expect.poll(() => bens.changes().at(-1)).toEqual(['DELETE', 3])
    for (const row of [2, 3]) expect(anns.changes()).not.toContainEqual(['INSERT', row])
    expect(anns.changes()).not.toContainEqual(['UPDATE', 2])
    expect(bens.changes()).not.toContainEqual(['INSERT', 3])
    expect(bens.changes()).toContainEqual(['INSERT', 2])
    expect(bens.changes()).toContainEqual(['UPDATE', 2])
    expect(bens.changes()).toContainEqual(['UPDATE', 1])
    await expect.poll(visitors.changes).toEqual([['DELETE', 3]])
    await sql(`delete from ${name}`)
  })

  test('as it is seen when each change is looked at', async () => {
    const [ann, ben] = [await somebody(), await somebody()]
    const [anns, bens] = [await reader(ann), await reader(ben)]
    await sql(`insert into ${name} values (10, '${ann.id}', 'a')`)
    await expect.poll(anns.changes).toEqual([['INSERT', 10]])
    await sql(`update ${name} set owner = '${ben.id}' where id = 10`)
    await expect.poll(bens.changes).toEqual([['UPDATE', 10]])
    await sql(`delete from ${name} where id = 10`)
    await expect.poll(anns.changes).toEqual([
      ['INSERT', 10],
      ['DELETE', 10],
    ])
    await expect.poll(bens.changes).toEqual([
      ['UPDATE', 10],
      ['DELETE', 10],
    ])
  })

  test('no more of a row that is gone by then, but for its end', async () => {
    const ann = await somebody()
    const [anns, services] = [
      await reader(ann),
      await reader({ token: inject('access').serviceKey }),
    ]
    await sql(
      `begin; insert into ${name} values (20, '${ann.id}', 'a'); delete from ${name} where id = 20; commit`,
    )
    await expect.poll(anns.changes).toEqual([['DELETE', 20]])
    await expect.poll(services.changes).toEqual([
      ['INSERT', 20],
      ['DELETE', 20],
    ])
  })

  test('by the claims of the channel’s current token', async () => {
    const [ann, ben] = [await somebody(), await somebody()]
    const { wire, room } = await reader(ann)
    wire.send(`realtime:${room}`, 'access_token', { access_token: ben.token })
    expect(await wire.system(room)).toEqual(subscribed(room))
    await sql(`insert into ${name} values (30, '${ann.id}', 'a'), (31, '${ben.id}', 'b')`)
    expect((await change(wire, room)).record).toMatchObject({ id: 31 })
    await moment()
    expect(changes(wire, room)).toEqual([])
    await sql(`delete from ${name}`)
  })

  test('to two users on one socket, to each what is his', async () => {
    const [ann, ben] = [await somebody(), await somebody()]
    const wire = await wires.add()
    const [one, two] = [unique('room'), unique('room')]
    // The deletions of the test before may still come.
    const inserts = { ...everything, event: 'INSERT' }
    await watch(wire, one, [inserts], ann)
    await watch(wire, two, [inserts], ben)
    await sql(`insert into ${name} values (40, '${ann.id}', 'a'), (41, '${ben.id}', 'b')`)
    expect((await change(wire, one)).record).toMatchObject({ id: 40 })
    expect((await change(wire, two)).record).toMatchObject({ id: 41 })
    await moment()
    expect([changes(wire, one), changes(wire, two)]).toEqual([[], []])
    await sql(`delete from ${name}`)
  })

  test('to none but those who pass a policy that is new', async () => {
    const ann = await somebody()
    const anns = await reader(ann)
    await sql(
      `create policy hidden on ${name} as restrictive for select to authenticated using (body <> 'hidden')`,
    )
    await sql(`insert into ${name} values (50, '${ann.id}', 'hidden'), (51, '${ann.id}', 'seen')`)
    await expect.poll(anns.changes).toEqual([['INSERT', 51]])
    await sql(`drop policy hidden on ${name}; delete from ${name}`)
  })

  test('without the columns that the role may not read', async () => {
    const binding = { event: '*', schema: SCHEMA, table: columns }
    const users = await reader(await somebody(), [binding])
    const services = await reader({ token: inject('access').serviceKey }, [binding])
    await sql(`insert into ${SCHEMA}.columns values (1, 'a', 'b')`)
    const user = (await users.wire.event(users.room, 'postgres_changes')).payload as Change
    expect(user.data.record).toEqual({ id: 1, name: 'a' })
    expect(user.data.columns.map(({ name }) => name)).toEqual(['id', 'name'])
    const service = await change(services.wire, services.room)
    expect(service.record).toEqual({ id: 1, name: 'a', secret: 'b' })
    await sql(
      `alter table ${SCHEMA}.columns replica identity full; update ${SCHEMA}.columns set name = 'c'`,
    )
    const updated = await change(users.wire, users.room)
    expect(updated).toMatchObject({
      record: { id: 1, name: 'c' },
      old_record: { id: 1, name: 'a' },
    })
    expect(JSON.stringify(updated)).not.toContain('secret')
  })

  test('to nobody whose role may not read the table', async () => {
    const [wire, room] = [await wires.add(), unique('room')]
    await wire.mustJoin(room, {
      postgres_changes: [{ event: '*', schema: SCHEMA, table: columns, filter: 'name=eq.a' }],
    })
    expect(await wire.system(room)).toEqual(
      unsubscribed(room, expect.stringContaining('invalid column for filter name')),
    )
    const other = unique('room')
    await wire.mustJoin(other, {
      postgres_changes: [{ event: '*', schema: SCHEMA, table: columns }],
    })
    await wire.system(other)
    await sql(`insert into ${SCHEMA}.columns values (2, 'anons', 'word')`)
    await moment(500)
    expect(JSON.stringify(changes(wire, other))).not.toMatch(/anons|word/)
  })

  test('to many with different claims at once', async () => {
    const people = await Promise.all(Array.from({ length: 60 }, somebody))
    const wire = await wires.add()
    const rooms = people.map(() => unique('room'))
    await Promise.all(
      people.map((person, index) => watch(wire, rooms[index] ?? '', [everything], person)),
    )
    const rows = people.map(({ id }, index) => `(${1000 + index}, '${id}', 'mine')`)
    await sql(`insert into ${name} values ${rows.join(', ')}`)
    for (const [index, room] of rooms.entries())
      expect((await change(wire, room)).record).toMatchObject({ id: 1000 + index })
    await wire.flush()
    for (const room of rooms) expect(changes(wire, room)).toEqual([])
    await sql(`delete from ${name}`)
  })

  test('by the rights and policies that its own transaction has left', async () => {
    const all = { event: '*', schema: SCHEMA }
    const person = await somebody()
    for (let round = 0; round < 8; round += 1) {
      const [guarded, narrow] = [`guarded_${round}`, `narrow_${round}`]
      for (const one of [guarded, narrow]) {
        await sql(`create table ${SCHEMA}.${one} (id int primary key, secret text);
                   grant select on ${SCHEMA}.${one} to authenticated;
                   alter publication supabase_realtime add table ${SCHEMA}.${one}`)
      }
      const { wire, room } = await reader(person, [
        { ...all, table: guarded },
        { ...all, table: narrow },
      ])
      // What is known of the tables is known from here on.
      await sql(`insert into ${SCHEMA}.${guarded} values (1, 'seen')`)
      await sql(`insert into ${SCHEMA}.${narrow} values (1, 'seen')`)
      for (let seen = 0; seen < 2; seen += 1) {
        expect((await change(wire, room)).record).toEqual({ id: 1, secret: 'seen' })
      }
      await sql(`begin; alter table ${SCHEMA}.${guarded} enable row level security;
                 insert into ${SCHEMA}.${guarded} values (2, 'hidden'); commit`)
      await sql(`begin; revoke select on ${SCHEMA}.${narrow} from authenticated;
                 grant select (id) on ${SCHEMA}.${narrow} to authenticated;
                 insert into ${SCHEMA}.${narrow} values (2, 'hidden'); commit`)
      const { table: from, record } = await change(wire, room)
      expect([from, record]).toEqual([narrow, { id: 2 }])
    }
  })
})
