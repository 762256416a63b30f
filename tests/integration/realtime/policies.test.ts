/** Changes for many users, of whom most cannot see a row: policies that compare a column with a claim, or ask for members. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

import { isOwn, moment, somebody, sql, Tables, token, unique, Wires } from './stage.ts'
import { changes, watch } from './watch.ts'

const wires = new Wires()
afterEach(() => wires.close())

const tables = new Tables('rt_policies')
const PEOPLE = 12

describe.skipIf(!isOwn)('of many users, changes reach', () => {
  beforeAll(() => tables.make())
  afterAll(() => tables.drop())

  async function reader(table: string, bearer: string, more: object = {}) {
    const [wire, room] = [await wires.add(), unique('room')]
    const binding = { event: '*', schema: tables.schema, table, ...more }
    await watch(wire, room, [binding], { token: bearer })
    const keys = () =>
      changes(wire, room).map(({ data: { record, old_record } }) => (record ?? old_record)?.id)
    return { wire, room, keys }
  }

  /** Makes a table with row-level security and one policy for users. */
  const guarded = (table: string, columns: string, condition: string) => {
    const name = `${tables.schema}.${table}`
    const policy = `create policy sees on ${name} for select to authenticated using (${condition})`
    return tables.published(
      table,
      columns,
      `alter table ${name} enable row level security; ${policy}`,
    )
  }

  test('the owner of each row, and the next owner', async () => {
    const name = await guarded(
      'own',
      'id int primary key, owner uuid, body text',
      'owner = (select auth.uid())',
    )
    const people = await Promise.all(Array.from({ length: PEOPLE }, somebody))
    const readers = await Promise.all(people.map(({ token }) => reader('own', token)))
    const upper = await reader(
      'own',
      await token({ sub: people[0]?.id.toUpperCase(), email: 'other' }),
    )
    const nobody = await reader('own', await token({ sub: 'nobody' }))
    const rows = people.map(({ id }, index) => `(${index}, '${id}', 'a')`)
    await sql(`insert into ${name} values ${rows.join(', ')}, (99, null, 'b')`)
    for (const [index, { keys }] of readers.entries()) await expect.poll(keys).toEqual([index])
    await expect.poll(upper.keys).toEqual([0])
    await sql(`update ${name} set owner = '${people[1]?.id ?? ''}' where id = 2`)
    await expect.poll(() => readers[1]?.keys()).toEqual([1, 2])
    // The end of a row is told to everybody.
    await sql(`delete from ${name} where id in (0, 99)`)
    await expect.poll(nobody.keys).toEqual([0, 99])
    await expect.poll(() => readers[2]?.keys()).toEqual([2, 0, 99])
  })

  test('those who are members then', async () => {
    await sql(`create table ${tables.schema}.members (room int, person uuid);
      alter table ${tables.schema}.members enable row level security;
      create policy own on ${tables.schema}.members for select to authenticated using (person = auth.uid());
      grant select on ${tables.schema}.members to authenticated`)
    const name = await guarded(
      'posts',
      'id int primary key, room int, body text',
      `exists (select 1 from ${tables.schema}.members m where m.room = posts.room and m.person = auth.uid())`,
    )
    const [ann, ben, cid] = [await somebody(), await somebody(), await somebody()]
    const member = (room: number, { id }: { id: string }) =>
      `insert into ${tables.schema}.members values (${room}, '${id}')`
    await sql(`${member(1, ann)}; ${member(2, ben)}`)
    const [anns, bens, cids] = [
      await reader('posts', ann.token),
      await reader('posts', ben.token),
      await reader('posts', cid.token),
    ]
    await sql(`insert into ${name} values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, null, 'd')`)
    await expect.poll(anns.keys).toEqual([1])
    await expect.poll(bens.keys).toEqual([2])
    // Whoever becomes a member with the row, or before it, gets it.
    await sql(`begin; ${member(1, cid)}; insert into ${name} values (5, 1, 'e'); commit`)
    await expect.poll(cids.keys).toEqual([5])
    await sql(`delete from ${tables.schema}.members where person = '${ann.id}'`)
    await sql(`insert into ${name} values (6, 1, 'f')`)
    await expect.poll(cids.keys).toEqual([5, 6])
    expect(anns.keys()).toEqual([1, 5])
    expect(bens.keys()).toEqual([2])
  })

  test('those whom policies show a row that have changed with it', async () => {
    const name = await guarded(
      'orders',
      'id int primary key, org text, owner uuid',
      "org = auth.jwt() -> 'app_metadata' ->> 'org'",
    )
    const as = async (org: unknown) =>
      reader('orders', await token({ sub: (await somebody()).id, app_metadata: { org } }))
    const [acme, beta, number] = [await as('acme'), await as('beta'), await as(7)]
    await sql(`insert into ${name} values (1, 'acme'), (2, '7')`)
    await expect.poll(acme.keys).toEqual([1])
    await expect.poll(number.keys).toEqual([2])
    await sql(
      `begin; alter policy sees on ${name} using (org <> 'acme'); insert into ${name} values (3, 'x'); commit`,
    )
    await expect.poll(beta.keys).toEqual([3])
    await expect.poll(acme.keys).toEqual([1, 3])
    await sql(
      `begin; create policy more on ${name} for select using (true); insert into ${name} values (4, 'acme'); commit`,
    )
    await expect.poll(beta.keys).toEqual([3, 4])
    await sql(`begin; create policy less on ${name} as restrictive for select using (owner = auth.uid());
      insert into ${name} values (5, 'beta'); commit; delete from ${name} where id = 5`)
    await expect.poll(beta.keys).toEqual([3, 4, 5])
    expect(changes(beta.wire, beta.room).at(-1)?.data.type).toBe('DELETE')
  })

  test('all whose policies do not fail, though others’ do', async () => {
    const name = await guarded(
      'shaky',
      'id int primary key, body text',
      "case when auth.jwt() ->> 'org' = 'bad' then 1 / (id - id) = 1 else id > 0 end",
    )
    const as = async (org: string) => reader('shaky', await token({ org }))
    const [one, bad, two] = [await as('a'), await as('bad'), await as('b')]
    await sql(`insert into ${name} values (1, 'a'), (2, 'b'), (-3, 'c')`)
    for (const { keys } of [one, two]) await expect.poll(keys).toEqual([1, 2])
    await moment()
    expect(bad.keys()).toEqual([])
  })

  test('users in one statement for many', async () => {
    await sql('create extension if not exists pg_stat_statements with schema extensions')
    const calls = async () =>
      Number(
        await sql(`select coalesce(sum(calls), 0) from extensions.pg_stat_statements
          where query like '%basalt.visible_rows(%'`),
      )
    const name = await guarded('open', 'id int primary key', 'auth.uid() is not null and id > 0')
    const people = await Promise.all(Array.from({ length: PEOPLE }, somebody))
    const readers = await Promise.all(people.map(({ token }) => reader('open', token)))
    const before = await calls()
    await sql(`insert into ${name} values (1)`)
    for (const { keys } of readers) await expect.poll(keys).toEqual([1])
    expect((await calls()) - before).toBe(1)
  })
})
