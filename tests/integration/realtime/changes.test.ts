/** Changes of rows: what is sent, to which subscriptions, and how. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { isOwn, moment, sql, Tables, unique, Wires } from './stage.ts'
import {
  change,
  changes,
  subscribed,
  unsubscribed,
  watch,
  type Binding,
  type Change,
} from './watch.ts'
import { VERSIONS, type Wire } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const SCHEMA = 'rt_rows'
const tables = new Tables(SCHEMA)
const published = tables.published.bind(tables)

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const aTime = expect.stringMatching(ISO) as string

describe.skipIf(!isOwn)('changes of rows', () => {
  beforeAll(() => tables.make())
  afterAll(() => tables.drop())

  describe('of a table', () => {
    const table = 'things'
    let name: string
    beforeAll(async () => {
      name = await published(table, 'id int primary key, name text, n int')
    })
    const binding = (more: Binding = {}) => ({ event: '*', schema: SCHEMA, table, ...more })

    test.for(VERSIONS)('are sent in version %s', async (vsn) => {
      // Rows of its own, since the end of those of another test may not have come yet.
      const [one, two, three] = vsn === '1.0.0' ? [1, 2, 3] : [11, 12, 13]
      const wire = await wires.add({ vsn })
      const room = unique('room')
      const [id] = await watch(wire, room, [binding()])
      expect(Number.isInteger(id) && id !== 0).toBe(true)
      await sql(`insert into ${name} values (${String(one)}, 'a', null)`)
      const frame = await wire.event(room, 'postgres_changes')
      const about = { schema: SCHEMA, table, commit_timestamp: aTime, errors: null }
      const columns = [
        { name: 'id', type: 'int4' },
        { name: 'name', type: 'text' },
        { name: 'n', type: 'int4' },
      ]
      expect(frame.ref).toBeNull()
      expect(frame.payload).toEqual({
        ids: [id],
        data: { ...about, type: 'INSERT', columns, record: { id: one, name: 'a', n: null } },
      })
      const timestamp = (frame.payload as Change).data.commit_timestamp ?? ''
      expect(Math.abs(Date.now() - Date.parse(timestamp))).toBeLessThan(10_000)

      await sql(`update ${name} set n = 2 where id = ${String(one)}`)
      expect(await change(wire, room)).toEqual({
        ...about,
        type: 'UPDATE',
        columns,
        record: { id: one, name: 'a', n: 2 },
        old_record: { id: one },
      })
      await sql(`update ${name} set id = ${String(two)} where id = ${String(one)}`)
      expect(await change(wire, room)).toMatchObject({
        record: { id: two },
        old_record: { id: one },
      })
      await sql(`delete from ${name} where id = ${String(two)}`)
      expect(await change(wire, room)).toEqual({
        ...about,
        type: 'DELETE',
        columns,
        old_record: { id: two },
      })
      await sql(`truncate ${name}; insert into ${name} values (${String(three)})`)
      expect(await change(wire, room)).toMatchObject({ type: 'INSERT', record: { id: three } })
    })

    test('come soon', async () => {
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [binding()])
      const delays: number[] = []
      for (let id = 100; id < 105; id++) {
        await sql(`insert into ${name} values (${String(id)})`)
        const committed = performance.now()
        await change(wire, room)
        delays.push(performance.now() - committed)
      }
      // Another program may have delayed some of them, and hardly all.
      expect(Math.min(...delays)).toBeLessThan(1000)
    })

    test('reach each binding that asks for them', async () => {
      const wire = await wires.add()
      const room = unique('room')
      const [
        all = 0,
        inserts = 0,
        updates = 0,
        deletes = 0,
        filtered = 0,
        schema = 0,
        anything = 0,
      ] = await watch(wire, room, [
        binding(),
        binding({ event: 'INSERT' }),
        binding({ event: 'update' }),
        binding({ event: 'DELETE' }),
        binding({ event: 'INSERT', filter: 'id=gt.1000' }),
        { event: '*', schema: SCHEMA },
        binding({ event: 'whatever' }),
      ])
      await sql(`insert into ${name} values (200)`)
      await sql(`insert into ${name} values (2000)`)
      await sql(`update ${name} set n = 1 where id = 200`)
      await sql(`delete from ${name} where id = 200`)
      await expect.poll(() => changes(wire, room)).toHaveLength(4)
      await wire.flush()
      const ids = changes(wire, room).map(({ ids }) => ids.toSorted((a, b) => a - b))
      const sorted = (...numbers: number[]) => numbers.toSorted((a, b) => a - b)
      const always = [all, schema, anything]
      expect(ids).toEqual([
        sorted(...always, inserts),
        sorted(...always, inserts, filtered),
        sorted(...always, updates),
        sorted(...always, deletes),
      ])
    })

    test('go with broadcasts and presence on one channel', async () => {
      const wire = await wires.add()
      const room = unique('room')
      const config = {
        postgres_changes: [binding(), null],
        broadcast: { self: true },
        presence: { enabled: true },
      }
      const reply = (await wire.join(room, config)) as {
        response: { postgres_changes: unknown[] }
      }
      expect(reply.response.postgres_changes).toHaveLength(1)
      expect(await wire.system(room)).toEqual(subscribed(room))
      await sql(`insert into ${name} values (500)`)
      await change(wire, room)
      wire.broadcast(room, 'shout', {})
      await wire.receiveBroadcast(room, 'shout')
    })

    test('have only the columns that are selected, and the key', async () => {
      const wire = await wires.add()
      const room = unique('room')
      const [few = 0, all = 0, none = 0] = await watch(wire, room, [
        binding({ select: ['name'], filter: 'n=eq.1' }),
        binding(),
        binding({ select: [] }),
      ])
      await sql(`insert into ${name} values (800, 'a', 1)`)
      await expect.poll(() => changes(wire, room)).toHaveLength(2)
      const withIds = (id: number) => changes(wire, room).find(({ ids }) => ids.includes(id))
      expect(withIds(few)?.ids).toEqual([few])
      expect(withIds(few)?.data.record).toEqual({ id: 800, name: 'a' })
      expect(withIds(few)?.data.columns.map(({ name }) => name)).toEqual(['id', 'name'])
      expect(withIds(all)?.data.record).toEqual({ id: 800, name: 'a', n: 1 })
      expect(withIds(none)).toEqual(withIds(all))
    })
  })

  test('keep the order of transactions, and of their rows', async () => {
    const name = await published('many', 'id int primary key, batch int')
    const wire = await wires.add()
    const room = unique('room')
    await watch(wire, room, [{ event: '*', schema: SCHEMA, table: 'many' }])
    const rows = (from: number, to: number, batch: number) =>
      `insert into ${name} select n, ${batch} from generate_series(${from}, ${to}) n`
    await sql(rows(1, 2000, 0))
    await Promise.all(
      [1, 2, 3].map((batch) => sql(rows(batch * 10_000, batch * 10_000 + 199, batch))),
    )
    await sql(`update ${name} set batch = 9 where id <= 3; delete from ${name} where id = 1`)
    await expect.poll(() => changes(wire, room).length, { timeout: 30_000 }).toBe(2604)
    await wire.flush()
    const all = changes(wire, room)
    expect(all).toHaveLength(2604)
    const of = (batch: number) => all.filter(({ data }) => data.record?.batch === batch)
    const numbers = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => from + index)
    for (const [batch, from, count] of [
      [0, 1, 2000],
      [1, 10_000, 200],
      [2, 20_000, 200],
      [3, 30_000, 200],
    ] as const) {
      expect(of(batch).map(({ data }) => data.record?.id)).toEqual(numbers(from, count))
      expect(new Set(of(batch).map(({ data }) => data.commit_timestamp)).size).toBe(1)
      const places = of(batch).map((change) => all.indexOf(change))
      expect(Math.max(...places) - Math.min(...places)).toBe(count - 1)
    }
    expect(all.slice(-4).map(({ data }) => [data.type, data.old_record?.id])).toEqual([
      ['UPDATE', 1],
      ['UPDATE', 2],
      ['UPDATE', 3],
      ['DELETE', 1],
    ])
  })

  test('of a table come once it is published', async () => {
    const table = 'later'
    const name = `${SCHEMA}.${table}`
    await sql(`create table ${name} (id int primary key); grant select on ${name} to anon`)
    const wire = await wires.add()
    // Two rooms, since other tests that publish tables renew the subscriptions of the first.
    const [early, room] = [unique('early'), unique('room')]
    const config = { postgres_changes: [{ event: '*', schema: SCHEMA, table }] }
    await wire.mustJoin(early, config)
    expect(await wire.system(early)).toEqual(
      unsubscribed(
        early,
        expect.stringContaining(
          'Unable to subscribe to changes with given parameters. Please check Realtime is enabled for the given connect parameters: [event: *, schema: rt_rows, table: later',
        ),
      ),
    )
    await sql(`insert into ${name} values (1)`)
    await sql(`alter publication supabase_realtime add table ${name}`)
    await watch(wire, room, config.postgres_changes)
    await sql(`insert into ${name} values (2)`)
    expect(await change(wire, room)).toMatchObject({ record: { id: 2 } })

    // A column that is added later is sent, too.
    await sql(`alter table ${name} add column extra text; insert into ${name} values (3, 'more')`)
    expect((await change(wire, room)).record).toEqual({ id: 3, extra: 'more' })

    await sql(
      `alter publication supabase_realtime drop table ${name}; insert into ${name} values (4)`,
    )
    await moment()
    expect(changes(wire, room)).toEqual([])
  })

  describe('that are asked for wrongly', () => {
    const table = 'asked'
    const place = { schema: SCHEMA, table }
    beforeAll(async () => {
      await published(
        table,
        'id int primary key, name text, yes bool, secret text',
        `revoke all on ${SCHEMA}.${table} from anon; grant select (id, name, yes) on ${SCHEMA}.${table} to anon`,
      )
    })

    const unfit =
      'Unable to subscribe to changes with given parameters. An exception happened so please check your connect parameters: ['
    const unparsed = 'Error parsing `filter` params: '

    /** Checks that the subscription is refused with a message that has all of `parts`. */
    async function refusal(wire: Wire, binding: Binding, parts: string[]) {
      const room = unique('room')
      const reply = await wire.join(room, {
        postgres_changes: [binding],
        broadcast: { ack: true },
      })
      expect(reply).toMatchObject({ status: 'ok' })
      const system = (await wire.system(room)) as { message: string }
      expect(system).toEqual(unsubscribed(room, expect.any(String)))
      for (const part of parts) expect(system.message).toContain(part)
      // The channel goes on.
      const ref = wire.broadcast(room, 'still', {})
      expect(await wire.reply(ref)).toEqual({ status: 'ok', response: {} })
    }

    test.for<[string, string[]]>([
      ['nope=eq.1', [unfit, 'Exception: ERROR', 'invalid column for filter nope']],
      ['secret=eq.1', [unfit, 'invalid column for filter secret']],
      ['id=eq.x', [unfit, 'Exception: ERROR', 'invalid input syntax for type integer: "x"']],
      [`id=in.(${'1,'.repeat(100)}1)`, [unfit, 'too many values for `in` filter. Maximum 100']],
      ['id=like.1%', [unfit, 'operator like requires a text-compatible column type, got integer']],
      [
        'id=imatch.1',
        [unfit, 'operator imatch requires a text-compatible column type, got integer'],
      ],
      ['name=match.(', [unfit, 'invalid regular expression for match filter: ']],
      ['name=is.true', [unfit, 'is true filter requires a boolean column, got text']],
      ['yes=is.maybe', ['invalid value for is filter: must be null, true, false, or unknown']],
      ['name', [unparsed]],
      ['name=eq', [unparsed]],
      ['name=unlike.x', [unparsed]],
      ['id=eq.1,,id=eq.2', [unparsed]],
      ['id=in.1,2', [unparsed]],
    ])('by filter %s', async ([filter, parts]) => {
      await refusal(await wires.add(), { event: '*', ...place, filter }, parts)
    })

    test.for<[Binding, string[]]>([
      [
        { schema: SCHEMA, table: 'nowhere' },
        [
          'Please check Realtime is enabled for the given connect parameters: [event: *, schema: rt_rows, table: nowhere',
        ],
      ],
      [
        { schema: 'nowhere' },
        [
          'Please check Realtime is enabled for the given connect parameters: [event: *, schema: nowhere',
        ],
      ],
      [{ ...place, select: ['nope'] }, [unfit, 'invalid column for select nope']],
      [{ ...place, select: ['secret'] }, [unfit, 'invalid column for select secret']],
      [{ ...place, select: 'id' }, ['Error parsing `select` params: ']],
      [{ ...place, select: [1] }, ['Error parsing `select` params: ']],
      [
        { schema: SCHEMA, select: ['id'] },
        ['Column selection is not supported for wildcard subscriptions. '],
      ],
      [{}, ['No subscription params provided. Please provide at least a ']],
    ])('by %j', async ([binding, parts]) => {
      await refusal(await wires.add(), { event: '*', ...binding }, parts)
    })

    test('stop the changes of the other bindings, too', async () => {
      const wire = await wires.add()
      const room = unique('room')
      const bindings = [
        { event: '*', ...place },
        { event: '*', ...place, filter: 'nope=eq.1' },
      ]
      await wire.mustJoin(room, { postgres_changes: bindings })
      expect(await wire.system(room)).toMatchObject({ status: 'error' })
      await sql(`insert into ${SCHEMA}.${table} values (1)`)
      await moment()
      expect(changes(wire, room)).toEqual([])
    })
  })
})
