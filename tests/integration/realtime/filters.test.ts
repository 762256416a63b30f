/** Which rows pass the filters of subscriptions. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { isOwn, sql, unique, Wires } from './stage.ts'
import { changes, watch } from './watch.ts'
import type { Wire } from './wire.ts'

const wires = new Wires()

const SCHEMA = 'rt_filters'
const table = 'cases'
const name = `${SCHEMA}.${table}`

const COLUMNS = `
  id int primary key, n int, big bigint, price numeric, name text, code varchar(20), tag uuid, yes bool, mood ${SCHEMA}.mood,
  at timestamptz, day date, "odd name" text`

/** The rows that are inserted, by their keys. */
const ROWS = [
  `1, 5, 9007199254740993, 1.50, 'apple', 'a', '6f1d2f8e-8f7a-4f0a-9a64-9d6c1f0a2b3c', true, 'low', '2024-01-01 00:00+00', '2024-01-01', 'x'`,
  `2, 10, 9007199254740992, 10, 'Apple', 'b', null, false, 'mid', '2024-06-01 12:00+02', '2024-06-01', null`,
  `3, -1, null, 2, 'a,b', 'c', null, null, 'high', '2025-01-01 00:00+00', '2025-01-01', 'y'`,
  `4, null, 0, null, null, null, null, true, null, null, null, ''`,
  `5, 100, 1, 1.5, 'a(b)"c\\d', 'e', '00000000-0000-0000-0000-000000000000', false, 'low', '2024-01-01 01:00+01', '2024-01-02', 'a.b=c'`,
  `6, 7, 2, 0.1, '', ' ', null, null, 'mid', 'infinity', 'infinity', 'in'`,
]

/** The keys of the rows that pass each filter. */
const CASES: [string, number[]][] = [
  ['', [1, 2, 3, 4, 5, 6]],
  ['   ', [1, 2, 3, 4, 5, 6]],
  ['id=eq.3', [3]],
  [' id=eq.3 ', [3]],
  ['id=neq.3', [1, 2, 4, 5, 6]],
  ['n=lt.10', [1, 3, 6]],
  ['n=lte.10', [1, 2, 3, 6]],
  ['n=gt.10', [5]],
  ['n=gte.10', [2, 5]],
  // Compared as numbers, not as texts, and more precisely than a double can.
  ['n=gt.9', [2, 5]],
  ['n=eq.-1', [3]],
  ['big=eq.9007199254740993', [1]],
  ['price=eq.1.5', [1, 5]],
  ['price=lt.1.50001', [1, 5, 6]],
  ['n=not.eq.5', [2, 3, 5, 6]],
  ['n=neq.5', [2, 3, 5, 6]],
  ['name=eq.apple', [1]],
  ['name=eq.', [6]],
  ['name=eq."a,b"', [3]],
  ['name=eq."a(b)\\"c\\\\d"', [5]],
  ['odd name=eq.x', [1]],
  ['odd name=eq.a.b=c', [5]],
  ['odd name=eq.in', [6]],
  ['name=in.(apple,Apple)', [1, 2]],
  ['name=in.("a,b",apple)', [1, 3]],
  ['name=not.in.(apple,Apple)', [3, 5, 6]],
  ['n=in.(5,100,7)', [1, 5, 6]],
  ['id=in.(1)', [1]],
  ['name=like.a%', [1, 3, 5]],
  ['name=like.A_ple', [2]],
  ['name=ilike.APPLE', [1, 2]],
  ['name=not.like.a%', [2, 6]],
  ['name=not.ilike.a%', [6]],
  ['code=like.a', [1]],
  ['name=match.^a.*e$', [1]],
  ['name=imatch.^A', [1, 2, 3, 5]],
  ['name=not.match.^a', [2, 6]],
  ['name=not.imatch.p', [3, 5, 6]],
  ['name=is.null', [4]],
  ['name=not.is.null', [1, 2, 3, 5, 6]],
  ['yes=is.true', [1, 4]],
  ['yes=is.false', [2, 5]],
  ['yes=is.unknown', [3, 6]],
  ['yes=not.is.true', [2, 3, 5, 6]],
  ['yes=eq.true', [1, 4]],
  ['yes=neq.true', [2, 5]],
  ['n=isdistinct.5', [2, 3, 4, 5, 6]],
  ['n=not.isdistinct.5', [1]],
  ['tag=eq.6F1D2F8E-8F7A-4F0A-9A64-9D6C1F0A2B3C', [1]],
  ['tag=in.(00000000-0000-0000-0000-000000000000)', [5]],
  ['mood=eq.mid', [2, 6]],
  // In the order of the type, not of the letters.
  ['mood=gt.low', [2, 3, 6]],
  ['at=eq.2024-01-01T00:00:00Z', [1, 5]],
  ['at=lt.2024-06-01T10:00:01+00:00', [1, 2, 5]],
  ['at=gt.2025-06-01', [6]],
  ['day=gte.2024-06-01', [2, 3, 6]],
  ['n=gt.5,n=lt.50', [2, 6]],
  ['n=gt.5, name=ilike.a%', [2, 5]],
  ['name=in.(apple,"a,b"),n=gt.0', [1]],
  ['id=gt.1,id=lt.5,yes=is.false', [2]],
]

/** The keys of the rows that are told when they are deleted: all is known of the key, and nothing else. */
const DELETIONS: [string, number[]][] = [
  ['', [1, 2, 3, 4, 5, 6]],
  ['id=gt.4', [5, 6]],
  ['id=not.in.(1,2)', [3, 4, 5, 6]],
  ['name=eq.apple', []],
  ['id=gt.1,n=gt.0', []],
]

describe.skipIf(!isOwn)('a filter', () => {
  /** The channels, by their filters. */
  const inserts = new Map<string, string>()
  const deletions = new Map<string, string>()
  const refusals = new Map<string, unknown>()
  let wire: Wire
  let rest: Wire

  beforeAll(async () => {
    await sql(`
      create schema ${SCHEMA}; grant usage on schema ${SCHEMA} to anon;
      create type ${SCHEMA}.mood as enum ('low', 'mid', 'high');
      create table ${name} (${COLUMNS}); grant select on ${name} to anon;
      alter publication supabase_realtime add table ${name}`)
    wire = await wires.add()
    rest = await wires.add()
    for (const [cases, rooms, event, on] of [
      [CASES, inserts, 'INSERT', wire],
      [DELETIONS, deletions, 'DELETE', rest],
    ] as const)
      for (const [filter] of cases) {
        const room = unique('filter')
        rooms.set(filter, room)
        const binding = { event, schema: SCHEMA, table, filter }
        // What is refused fails in its own test, not here.
        await watch(on, room, [binding]).catch((error: unknown) => refusals.set(filter, error))
      }
    for (const row of ROWS) await sql(`insert into ${name} values (${row})`)
    await sql(`delete from ${name}`)
    const all = deletions.get('') ?? ''
    await vi.waitFor(() => expect(changes(rest, all)).toHaveLength(6), 20_000)
    await wire.flush()
  })

  afterAll(async () => {
    wires.close()
    await sql(`drop schema ${SCHEMA} cascade`)
  })

  test.for(CASES)('%j passes %j', async ([filter, expected]) => {
    const room = inserts.get(filter) ?? ''
    expect(refusals.get(filter)).toBeUndefined()
    await expect
      .poll(() => changes(wire, room).map(({ data }) => data.record?.id))
      .toEqual(expected)
  })

  test.for(DELETIONS)('%j passes deletions of %j', async ([filter, expected]) => {
    const room = deletions.get(filter) ?? ''
    expect(refusals.get(filter)).toBeUndefined()
    await expect
      .poll(() => changes(rest, room).map(({ data }) => data.old_record?.id))
      .toEqual(expected)
  })

  test('judges updates by the new row, and deletions by the whole old one where that is known', async () => {
    await sql(`
      create table ${SCHEMA}.whole (id int primary key, n int); grant select on ${SCHEMA}.whole to anon;
      alter table ${SCHEMA}.whole replica identity full;
      alter publication supabase_realtime add table ${SCHEMA}.whole`)
    const room = unique('filter')
    await watch(wire, room, [{ event: '*', schema: SCHEMA, table: 'whole', filter: 'n=eq.1' }])
    await sql(`insert into ${SCHEMA}.whole values (1, 1), (2, 2), (3, 1)`)
    await sql(
      `update ${SCHEMA}.whole set n = 3 where id = 1; update ${SCHEMA}.whole set n = 1 where id = 2`,
    )
    await sql(`delete from ${SCHEMA}.whole`)
    const changeKeys = () =>
      changes(wire, room).map(({ data: { type, record, old_record } }) => [
        type,
        (record ?? old_record)?.id,
      ])
    await expect
      .poll(changeKeys)
      .toEqual([
        ['INSERT', 1],
        ['INSERT', 3],
        ['UPDATE', 2],
        ...(await sortedDeletions(changeKeys)),
      ])
  })

  /** Deletions come in the order of the table, which is of no interest here. */
  async function sortedDeletions(changeKeys: () => unknown[][]): Promise<unknown[][]> {
    await expect.poll(() => changeKeys().length).toBe(5)
    const deleted = changeKeys().slice(3)
    expect(deleted.toSorted(([, a], [, b]) => Number(a) - Number(b))).toEqual([
      ['DELETE', 2],
      ['DELETE', 3],
    ])
    return deleted
  }
})
