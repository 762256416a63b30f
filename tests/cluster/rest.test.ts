/** Rows and the schema, on two nodes. */
import { expect, inject, test } from 'vitest'

import { found, service, sql, unique, visitor, type NotesClient } from './clients.ts'

const { all, one, two, standbyUrls } = inject('cluster')

/** How often a row is written and read. */
const TIMES = 200

/** Writes rows at one node, and reads each at the other one at once; returns how many were not there. */
async function missed(writer: NotesClient, reader: NotesClient) {
  let missing = 0
  for (let n = 0; n < TIMES; n += 1) {
    const { id } = found(
      await writer
        .from('notes')
        .insert({ body: `note ${n}` })
        .select('id')
        .single(),
    )
    const read = found(await reader.from('notes').select('id').eq('id', id))
    if (read.length === 0) missing += 1
  }
  return missing
}

test.for([
  ['a visitor', visitor],
  ['a trusted server', service],
] as const)('%s reads at one node what it wrote at the other', async ([, client]) => {
  expect(await missed(client(one), client(two))).toBe(0)
  expect(await missed(client(two), client(one))).toBe(0)
})

test('a user reads at one node what they wrote at the other', async () => {
  const account = { email: `${unique('reader')}@example.com`, password: 'correct horse battery' }
  const [here, there] = [visitor(one), visitor(two)]
  found(await here.auth.signUp(account))
  found(await there.auth.signInWithPassword(account))
  expect(await missed(here, there)).toBe(0)
})

test('reads go to standbys', async () => {
  const transactions =
    "select xact_commit::int as n from pg_stat_database where datname = 'postgres'"
  const count = async () => {
    const rows = await Promise.all(standbyUrls.map((url) => sql(transactions, url)))
    return rows.flat().reduce((sum, { n }) => sum + Number(n), 0)
  }
  const before = await count()
  const reader = visitor(all)
  for (let n = 0; n < TIMES; n += 1) found(await reader.from('notes').select('id').limit(1))
  // A connection reports what it has done every so often.
  await expect.poll(count, { timeout: 20_000 }).toBeGreaterThan(before + TIMES / 2)
})

test('both nodes know a new table', async () => {
  const table = `t${unique('').replaceAll('-', '')}`
  await sql(`create table public.${table} (id int); grant select on public.${table} to anon`)
  for (const { url, anonKey } of [one, two]) {
    const status = async () =>
      (await fetch(`${url}/rest/v1/${table}`, { headers: { apikey: anonKey } })).status
    await expect.poll(status, { timeout: 5000 }).toBe(200)
  }
  await sql(`drop table public.${table}`)
})
