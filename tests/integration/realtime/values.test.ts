/** What is sent of changed rows: their values, the values before, and errors in place of them. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { isOwn, sql, Tables, unique, Wires } from './stage.ts'
import { change, watch, type Change } from './watch.ts'

const wires = new Wires()
afterEach(() => wires.close())

const SCHEMA = 'rt_values'
const tables = new Tables(SCHEMA)
const published = tables.published.bind(tables)

describe.skipIf(!isOwn)('changes of rows', () => {
  beforeAll(() => tables.make())
  afterAll(() => tables.drop())

  describe('have values', () => {
    const TYPES = {
      small: ['int2', '-32768'],
      whole: ['int4', '2147483647'],
      big: ['int8', '9007199254740993'],
      real4: ['float4', '1.5'],
      real8: ['float8', '-0.1'],
      exact: ['numeric', '12345678901234567890.000123450'],
      yes: ['bool', 'true'],
      words: ['text', `'ü "quoted" \\ ☃' || chr(10) || chr(9) || chr(1)`],
      short: ['varchar(9)', `'abc'`],
      fixed: ['char(4)', `'ab'`],
      label: ['name', `'label'`],
      key: ['uuid', `'6f1d2f8e-8f7a-4f0a-9a64-9d6c1f0a2b3c'`],
      day: ['date', `'2024-02-29'`],
      clock: ['time', `'12:34:56.789'`],
      clock_zone: ['timetz', `'12:34:56+02'`],
      moment: ['timestamp', `'2024-02-29 12:34:56.789'`],
      instant: ['timestamptz', `'2024-02-29 12:34:56.789+02'`],
      span: ['interval', `'1 day 02:03:04'`],
      doc: ['jsonb', `'{"a": [1, {"b": null}], "n": 9007199254740993}'`],
      raw: ['json', `'{ "a" :  1.50 }'`],
      mood: [`${SCHEMA}.mood`, `'fine'`],
      numbers: ['int[]', `'{1,null,3}'`],
      bigs: ['int8[]', `'{9007199254740993}'`],
      fixed_many: ['char(4)[]', `'{ab,c}'`],
      texts: ['text[]', `array['a', 'b,"c', null, '{}']`],
      grid: ['int[][]', `'{{1,2},{3,4}}'`],
      nothing: ['int[]', `'{}'`],
      flags: ['bool[]', `'{t,f}'`],
      moods: [`${SCHEMA}.mood[]`, `'{fine,sad}'`],
      docs: ['jsonb[]', `array['{"a":1}'::jsonb]`],
      pair: [`${SCHEMA}.pair`, `row(1, 'x')`],
      range: ['int4range', `'[1,5)'`],
      net: ['inet', `'192.0.2.1/24'`],
      bits: ['bit(3)', `B'101'`],
      place: ['point', `'(1,2)'`],
      search: ['tsvector', `'a fat cat'`],
      money: ['numeric(10,2)', '5'],
      infinite: ['timestamptz', `'infinity'`],
      code: ['oid', '4294967295'],
      home: [`${SCHEMA}.postcode`, `'12345'`],
    } as const
    const columns = Object.entries(TYPES)
    let name: string

    beforeAll(async () => {
      await sql(`create type ${SCHEMA}.mood as enum ('sad', 'fine');
                 create type ${SCHEMA}.pair as (a int, b text);
                 create domain ${SCHEMA}.postcode as text check (value ~ '^[0-9]+$')`)
      const definitions = columns.map(([column, [type]]) => `"${column}" ${type}`)
      name = await published('kinds', `id int primary key, ${definitions.join(', ')}, bytes bytea`)
    })

    const binding = { event: '*', schema: SCHEMA, table: 'kinds' }

    test('as JSON writes them', async () => {
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [binding])
      const values = columns.map(([, [, value]]) => value)
      await sql(`insert into ${name} values (1, ${values.join(', ')}, '\\x00ff10')`)
      const frame = await wire.event(room, 'postgres_changes')
      const { data } = frame.payload as Change
      const json = await sql(`set timezone = 'UTC'; select to_jsonb(t) from ${name} t`)
      expect(data.record).toEqual({ ...(JSON.parse(json) as object), bytes: '00ff10' })
      for (const digits of [
        '"big":9007199254740993',
        '12345678901234567890.000123450',
        '"n":9007199254740993',
        '[9007199254740993]',
      ])
        expect(frame.raw.toString().replaceAll(': ', ':')).toContain(digits)
      const types = await sql(`
        select attname || ' ' || typname from pg_attribute join pg_type on pg_type.oid = atttypid
        where attrelid = '${name}'::regclass and attnum > 0 order by attnum`)
      expect(data.columns.map(({ name, type }) => `${name} ${type}`)).toEqual(types.split('\n'))
    })

    test('that are null', async () => {
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [binding])
      await sql(`insert into ${name} (id) values (2)`)
      const { record } = await change(wire, room)
      const nulls = Object.fromEntries(columns.map(([column]) => [column, null]))
      expect(record).toEqual({ id: 2, ...nulls, bytes: null })
    })

    test('of names and tables that need quotes', async () => {
      const table = await published(
        '"Odd ""Table"""',
        `"Key, ü" int primary key, "select" text, "a.b" text`,
      )
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [
        { event: '*', schema: SCHEMA, table: 'Odd "Table"', filter: 'select=eq.x' },
      ])
      await sql(`insert into ${table} values (1, 'y', 'z'), (2, 'x', 'z')`)
      expect(await change(wire, room)).toMatchObject({
        table: 'Odd "Table"',
        record: { 'Key, ü': 2, select: 'x', 'a.b': 'z' },
      })
    })
  })

  describe('of rows as they were', () => {
    async function tableOf(table: string, identity: string) {
      const name = await published(
        table,
        'id int primary key, n int, body text',
        `alter table ${SCHEMA}.${table} alter column body set storage external;
         alter table ${SCHEMA}.${table} replica identity ${identity}`,
      )
      await sql(`insert into ${name} values (1, 1, repeat('x', 20000))`)
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [{ event: '*', schema: SCHEMA, table }])
      return { name, wire, room }
    }

    test('have the key only, by default, and lack long values that stay', async () => {
      const { name, wire, room } = await tableOf('by_default', 'default')
      await sql(`update ${name} set n = 2`)
      expect(await change(wire, room)).toMatchObject({
        record: { id: 1, n: 2 },
        old_record: { id: 1 },
      })
      await sql(`update ${name} set n = 3`)
      const { record, old_record } = await change(wire, room)
      expect(record).toEqual({ id: 1, n: 3 })
      expect(old_record).toEqual({ id: 1 })
      await sql(`update ${name} set body = 'short'`)
      expect((await change(wire, room)).record).toEqual({ id: 1, n: 3, body: 'short' })
      await sql(`delete from ${name}`)
      expect((await change(wire, room)).old_record).toEqual({ id: 1 })
    })

    test('have the key only, where policies guard the table', async () => {
      const name = await published(
        'guarded',
        'id int primary key, n int',
        `alter table ${SCHEMA}.guarded replica identity full; alter table ${SCHEMA}.guarded enable row level security;
         create policy "all" on ${SCHEMA}.guarded for select using (true)`,
      )
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [
        { event: 'UPDATE', schema: SCHEMA, table: 'guarded' },
        { event: 'DELETE', schema: SCHEMA, table: 'guarded' },
      ])
      await sql(`insert into ${name} values (1, 2)`)
      await sql(`update ${name} set n = 3`)
      expect((await change(wire, room)).old_record).toEqual({ id: 1 })
      await sql(`delete from ${name}`)
      expect((await change(wire, room)).old_record).toEqual({ id: 1 })
    })
  })

  describe('with an error', () => {
    const failed = (error: string) => ({
      columns: [],
      record: {},
      commit_timestamp: null,
      errors: [error],
    })

    test('tell of tables without a key, whatever the filter', async () => {
      const table = 'keyless'
      const name = await published(
        table,
        'n int',
        `alter table ${SCHEMA}.${table} replica identity full`,
      )
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [{ event: '*', schema: SCHEMA, table, filter: 'n=eq.5' }])
      await sql(`insert into ${name} values (1)`)
      const expected = {
        ...failed('Error 400: Bad Request, no primary key'),
        schema: SCHEMA,
        table,
      }
      expect(await change(wire, room)).toEqual({ ...expected, type: 'INSERT' })
      await sql(`update ${name} set n = 2`)
      expect(await change(wire, room)).toEqual({ ...expected, type: 'UPDATE', old_record: {} })
    })

    test('have only what is short, if they are too large', async () => {
      const table = 'heavy'
      const name = await published(table, 'id int primary key, body text, word text, words text')
      const wire = await wires.add()
      const room = unique('room')
      await watch(wire, room, [{ event: '*', schema: SCHEMA, table }])
      await sql(`insert into ${name} values (1, repeat('x', 1200000), 'short', repeat('y', 65))`)
      const data = await change(wire, room)
      expect(data).toMatchObject({
        type: 'INSERT',
        table,
        errors: ['Error 413: Payload Too Large'],
      })
      expect(data.record).toEqual({ id: 1, word: 'short' })
      await sql(`insert into ${name} values (2, repeat('x', 1000000), 'short', '')`)
      const fits = await change(wire, room)
      expect(fits.errors).toBeNull()
      expect(fits.record?.body).toHaveLength(1_000_000)
    })
  })
})
