/** What one client or one statement must not do to the row changes of everybody else. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { isOwn, moment, somebody, sql, Tables, unique, Wires } from './stage.ts'
import { change, changes, ended, subscribed, unsubscribed, watch, type Binding } from './watch.ts'

const wires = new Wires()
afterEach(() => wires.close())

const SCHEMA = 'rt_hostile'
const tables = new Tables(SCHEMA)
const published = tables.published.bind(tables)

const INVALID = 'Unable to subscribe to changes: the filter cannot be evaluated'

/** The longest time in milliseconds that slow filters may delay the changes of others, on a busy machine. */
const LONGEST_DELAY = 8000
/** Filters that Postgres cannot evaluate in time for a long word of the letter a. */
const SLOW_FILTERS = Array.from({ length: 60 }, (_, n) => `word=match.(?=.*(?=.*b)c)d${String(n)}`)
const LONG = `repeat('a', 5000)`

/** Returns a binding to all changes of a table. */
const all = (table: string, more: Binding = {}): Binding => ({
  event: '*',
  schema: SCHEMA,
  table,
  ...more,
})

/** Joins a channel with these bindings. */
async function watching(bindings: Binding[], token?: string) {
  const wire = await wires.add()
  const room = unique('room')
  await watch(wire, room, bindings, token === undefined ? {} : { token })
  return { wire, room }
}

describe.skipIf(!isOwn)('everybody else gets their changes', () => {
  beforeAll(() => tables.make())
  afterAll(() => tables.drop())

  test.for([
    ['word=like.\\', 'LIKE pattern must not end with escape character'],
    ['word=ilike.a\\', 'LIKE pattern must not end with escape character'],
    ['word=match.^(.+)(.+)\\2\\1$', 'back-references are not supported'],
    [Array.from({ length: 33 }, () => 'id=gt.0').join(','), 'a filter may have'],
    [`word=eq.${'x'.repeat(33_000)}`, 'a filter may have'],
  ])('though one asks for %s', async ([filter, reason]) => {
    const table = unique('words').replaceAll('-', '_')
    const name = await published(table, 'id int primary key, word text')
    const { wire, room } = await watching([all(table)])
    const other = await wires.add()
    const elsewhere = unique('room')
    await other.join(elsewhere, { postgres_changes: [all(table, { filter })] })
    const message = expect.stringContaining(reason ?? '') as string
    expect(await other.system(elsewhere)).toEqual(unsubscribed(elsewhere, message))
    await sql(`insert into ${name} values (1, 'abc')`)
    expect((await change(wire, room)).record).toEqual({ id: 1, word: 'abc' })
  })

  test('though some thousand filters have to be asked about', async () => {
    const name = await published('many', 'id int primary key, n int')
    const [wire, room] = [await wires.add(), unique('room')]
    const channels = Array.from({ length: 17 }, (_, channel) => ({
      name: `${room}-${String(channel)}`,
      bindings: Array.from({ length: 100 }, (_, index) =>
        all('many', { filter: `id=gte.${String(channel * 100 + index)},n=is.null` }),
      ),
    }))
    const ids = new Map<string, number[]>()
    for (const { name, bindings } of channels) ids.set(name, await watch(wire, name, bindings))
    await sql(`insert into ${name} values (1603), (5)`)
    // The last channel has 1600 and more; only its first four filters are passed.
    const last = channels[16]?.name ?? ''
    const frame = await wire.event(last, 'postgres_changes')
    const expected = ids.get(last)?.slice(0, 4).sort()
    expect([...(frame.payload as { ids: number[] }).ids].sort()).toEqual(expected)
    const first = channels[0]?.name ?? ''
    for (const count of [100, 6]) {
      const { payload } = await wire.event(first, 'postgres_changes')
      expect((payload as { ids: number[] }).ids).toHaveLength(count)
    }
  }, 120_000)

  test('though a filter does not fit any more', async () => {
    const name = await published('retyped', 'id int primary key, word text')
    const one = await watching([all('retyped')])
    const other = await watching([all('retyped', { filter: 'word=gt.m' })])
    await sql(`insert into ${name} values (1, 'z')`)
    expect((await change(one.wire, one.room)).record).toEqual({ id: 1, word: 'z' })
    expect((await change(other.wire, other.room)).record).toEqual({ id: 1, word: 'z' })
    await sql(`alter table ${name} alter column word type int using 5;
               insert into ${name} values (2, 7)`)
    // A renewal, as after the publication of a table, may find it out before the row does.
    const message = expect.stringContaining('Unable to subscribe to changes') as string
    expect(await ended(other.wire, other.room)).toEqual(unsubscribed(other.room, message))
    expect((await change(one.wire, one.room)).record).toEqual({ id: 2, word: 7 })
  })

  test('without long delay, though the filters of one are slow', async () => {
    const name = await published('slow', 'id int primary key, word text')
    const elsewhere = await published('elsewhere', 'id int primary key')
    const one = await watching([all('slow')])
    const two = await watching([all('elsewhere')])
    const other = await watching(SLOW_FILTERS.map((filter) => all('slow', { filter })))
    const begun = Date.now()
    await sql(`insert into ${name} values (1, ${LONG}); insert into ${elsewhere} values (1)`)
    for (const { wire, room } of [one, two])
      expect((await change(wire, room, 60_000)).record).toMatchObject({ id: 1 })
    expect(Date.now() - begun).toBeLessThan(LONGEST_DELAY)
    expect(await ended(other.wire, other.room)).toEqual(unsubscribed(other.room, INVALID))
  }, 90_000)

  test('without delay, once filters were slow on rows that policies hide', async () => {
    const name = await published(
      'unseen',
      'id int primary key, is_public boolean, word text',
      `alter table ${SCHEMA}.unseen enable row level security;
       create policy seen on ${SCHEMA}.unseen for select using (is_public)`,
    )
    const one = await watching([all('unseen')])
    const other = await watching(SLOW_FILTERS.map((filter) => all('unseen', { filter })))
    const delays: number[] = []
    for (const id of [1, 2, 3, 4]) {
      const begun = Date.now()
      await sql(
        `insert into ${name} values (${String(-id)}, false, ${LONG}), (${String(id)}, true, 'a')`,
      )
      expect((await change(one.wire, one.room, 60_000)).record).toMatchObject({ id })
      delays.push(Date.now() - begun)
    }
    // Other tests may delay some of them.
    expect(Math.max(...delays)).toBeLessThan(LONGEST_DELAY)
    expect(Math.min(...delays.slice(1))).toBeLessThan(1000)
    await moment()
    const told = other.wire.received.filter(({ event }) => event === 'system')
    expect(told.filter(({ payload }) => (payload as { status: string }).status !== 'ok')).toEqual(
      [],
    )
  }, 150_000)

  test('though a row among them cannot be read', async () => {
    const name = await published('unread', 'id int primary key, doc json, place regclass')
    const { wire, room } = await watching([all('unread')])
    await sql(`create table ${SCHEMA}.gone (id int);
               begin;
               insert into ${name} values (1, '{"a":"\\u0000"}', null), (2, null, '${SCHEMA}.gone'), (3, null, null);
               drop table ${SCHEMA}.gone;
               commit`)
    const rows = [await change(wire, room), await change(wire, room), await change(wire, room)]
    expect(rows.map(({ record }) => record?.id)).toEqual([1, 2, 3])
    expect(rows[0]?.record?.doc).toEqual({ a: '\0' })
  })

  test('though policies apply to hundreds of people, who get their own', async () => {
    const name = await published(
      'owned',
      'id int primary key, owner uuid',
      `alter table ${SCHEMA}.owned enable row level security;
       create policy own on ${SCHEMA}.owned for select to authenticated using (owner = auth.uid())`,
    )
    const wire = await wires.add()
    const people = await Promise.all(Array.from({ length: 90 }, () => somebody()))
    for (const { id, token } of people) await watch(wire, id, [all('owned')], { token })
    const values = people.map(({ id }, index) => `(${String(index)}, '${id}')`)
    await sql(`insert into ${name} values ${values.join(', ')}`)
    for (const [index, { id }] of people.entries()) {
      expect((await change(wire, id)).record).toEqual({ id: index, owner: id })
    }
    await moment()
    expect(wire.received.filter(({ event }) => event === 'postgres_changes')).toEqual([])
  })

  test('of a table that is dropped and made again', async () => {
    const name = await published('remade', 'id int primary key')
    const { wire, room } = await watching([all('remade')])
    const columns = '(id int primary key)'
    await sql(`begin; drop table ${name}; create table ${name} ${columns}; grant select on ${name} to anon;
               alter publication supabase_realtime add table ${name}; commit`)
    expect(await wire.system(room)).toEqual(subscribed(room))
    // The message may be about what another test has published. Rows come once the new table is known.
    let id = 0
    const told = async () => {
      id += 1
      await sql(`insert into ${name} values (${String(id)})`)
      return changes(wire, room).length
    }
    await expect.poll(told, { interval: 200 }).toBeGreaterThan(0)
  })

  test('as far as they may still read the table', async () => {
    const name = await published('granted', 'id int primary key, n int')
    const { wire, room } = await watching([all('granted')])
    await sql(`insert into ${name} values (1, 1)`)
    expect((await change(wire, room)).record).toEqual({ id: 1, n: 1 })
    await sql(`revoke select on ${name} from anon; grant select (id) on ${name} to anon`)
    await moment()
    await sql(`insert into ${name} values (2, 2)`)
    expect((await change(wire, room)).record).toEqual({ id: 2 })
    await sql(`revoke select (id) on ${name} from anon`)
    await moment()
    await sql(`insert into ${name} values (3, 3)`)
    expect(await change(wire, room)).toMatchObject({
      errors: ['Error 401: Unauthorized'],
      record: {},
    })
  })

  test('and nothing about rows that policies hide', async () => {
    const name = await published(
      'salaries',
      'id int primary key, salary int',
      `revoke all on ${SCHEMA}.salaries from anon; grant select (salary) on ${SCHEMA}.salaries to anon;
       alter table ${SCHEMA}.salaries enable row level security`,
    )
    const { wire, room } = await watching([all('salaries', { filter: 'salary=gt.100' })])
    await sql(`insert into ${name} values (1, 50), (2, 500)`)
    // Both are told, so that neither says anything about its row.
    for (let row = 0; row < 2; row += 1) {
      expect((await change(wire, room)).errors).toEqual(['Error 401: Unauthorized'])
    }
  })
})

describe.skipIf(!isOwn)('filters and old rows', () => {
  const MORE = `${SCHEMA}_more`
  const own = new Tables(MORE)
  beforeAll(() => own.make())
  afterAll(() => own.drop())

  test('are compared in the order of their column', async () => {
    const name = await own.published('sorted', 'id int primary key, word text collate "und-x-icu"')
    const binding = { event: '*', schema: MORE, table: 'sorted', filter: 'word=lt.B' }
    const { wire, room } = await watching([binding])
    await sql(`insert into ${name} values (1, 'C'), (2, 'a')`)
    expect((await change(wire, room)).record).toEqual({ id: 2, word: 'a' })
  })

  test('know the values that an update leaves as they are', async () => {
    const name = await own.published(
      'long',
      'id int primary key, n int, body text',
      `alter table ${MORE}.long alter column body set storage external;
       alter table ${MORE}.long replica identity full`,
    )
    await sql(`insert into ${name} values (1, 1, repeat('x', 20000)), (2, 1, repeat('y', 20000))`)
    const binding = { event: 'UPDATE', schema: MORE, table: 'long', filter: 'body=like.x%' }
    const { wire, room } = await watching([binding])
    await sql(`update ${name} set n = 2`)
    expect((await change(wire, room)).record).toMatchObject({ id: 1, n: 2 })
  })

  test('have the columns of the replica identity', async () => {
    const name = await own.published(
      'identified',
      'id int primary key, code text not null unique, n int',
      `alter table ${MORE}.identified replica identity using index identified_code_key`,
    )
    const { wire, room } = await watching([{ event: '*', schema: MORE, table: 'identified' }])
    await sql(`insert into ${name} values (1, 'a', 1)`)
    await change(wire, room)
    await sql(`update ${name} set code = 'b'; delete from ${name}`)
    const updated = await change(wire, room)
    expect([updated.record, updated.old_record]).toEqual([
      { id: 1, code: 'b', n: 1 },
      { code: 'a' },
    ])
    expect((await change(wire, room)).old_record).toEqual({ code: 'b' })
  })
})

describe.skipIf(!isOwn)('a join', () => {
  test.for([
    [Array.from({ length: 101 }, () => ({ event: '*' })), 'Too many postgres_changes bindings'],
    [[{ event: '*', filter: 'x'.repeat(200_000) }], 'The payload of the join is too large'],
  ] as const)('may not ask for too much', async ([bindings, reason]) => {
    const wire = await wires.add()
    const reply = await wire.join(unique('room'), { postgres_changes: bindings })
    const reasonText = expect.stringContaining(reason) as string
    expect(reply).toEqual({ status: 'error', response: { reason: reasonText } })
  })
})
