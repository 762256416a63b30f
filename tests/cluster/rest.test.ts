/** Rows and the schema, on two nodes. */
import { expect, inject, test } from 'vitest'

import { service, visitor, type NotesClient } from '../support/notes.ts'
import { found, sql, unique } from './clients.ts'

const { all, one, two, standbyUrls } = inject('cluster')

/** How often a row is written and read. */
const TIMES = 200

/** The time within which nodes tell each other of a write, in milliseconds. */
const TELLING = 500

/** Carries the position of the last write from node to node, as browsers do with the cookie. */
function carrier(): typeof fetch {
  let position: string | null = null
  return async (input, init) => {
    const headers = new Headers(init?.headers)
    if (position) headers.set('basalt-wal-position', position)
    const response = await fetch(input, { ...init, headers })
    position = response.headers.get('basalt-wal-position') ?? position
    return response
  }
}

/** Writes a row and returns its id. */
async function write(client: NotesClient, body: string) {
  return found(await client.from('notes').insert({ body }).select('id').single()).id
}

/** Returns whether a client finds a row. */
async function sees(client: NotesClient, id: string) {
  return found(await client.from('notes').select('id').eq('id', id)).length === 1
}

test.for([
  ['a visitor', visitor],
  ['a trusted server', service],
] as const)(
  '%s that carries the position reads at one node what it wrote at the other',
  async ([, client]) => {
    const carried = carrier()
    const [here, there] = [client(one, carried), client(two, carried)]
    let missed = 0
    for (let n = 0; n < TIMES; n += 1) {
      const [writer, reader] = n % 2 === 0 ? [here, there] : [there, here]
      if (!(await sees(reader, await write(writer, `note ${n}`)))) missed += 1
    }
    expect(missed).toBe(0)
  },
)

test('nodes tell each other who has written, for clients that carry nothing', async () => {
  const account = () => ({
    email: `${unique('reader')}@example.com`,
    password: 'correct horse battery',
  })
  const [ada, bob] = [account(), account()]
  const [here, there, stranger] = [visitor(one), visitor(two), visitor(two)]
  found(await here.auth.signUp(ada))
  // Another session of the same user.
  found(await there.auth.signInWithPassword(ada))
  found(await stranger.auth.signUp(bob))
  const onStandbys = (text: string) => Promise.all(standbyUrls.map((url) => sql(text, url)))
  await onStandbys('select pg_wal_replay_pause()')
  try {
    const id = await write(here, 'what no standby has')
    await new Promise((resolve) => setTimeout(resolve, TELLING))
    expect(await sees(there, id)).toBe(true)
    // Reads of other users still go to the standbys.
    expect(await sees(stranger, id)).toBe(false)
  } finally {
    await onStandbys('select pg_wal_replay_resume()')
  }
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
