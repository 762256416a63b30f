import { Client } from 'pg'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/schema_cache.html'

export const catalog = group('rest.catalog', {
  title: 'Changes of the database',
  source: `${docs}#schema-cache-reloading-with-notify`,
  needs: ['sql', 'db'],
})

/** Changes the database, tells so, and waits until `path` gets `status`. */
async function change(t: Context, sql: string, path: string, status: number): Promise<void> {
  const { url, anonKey, databaseUrl } = t.target
  const client = new Client({ connectionString: databaseUrl, connectionTimeoutMillis: 10_000 })
  await client.connect()
  try {
    await client.query(`${sql}; notify pgrst, 'reload schema'`)
  } finally {
    await client.end()
  }
  const end = performance.now() + t.patience
  const headers = { apikey: anonKey, authorization: `Bearer ${anonKey}` }
  const now = async () => (await fetch(`${url}/rest/v1/${path}`, { headers })).status
  while ((await now()) !== status && performance.now() < end) await t.pause(100)
}

/** Makes a table with a row, waits until it is read with `query`, and removes it after the case. */
async function readableTable(t: Context, query = ''): Promise<string> {
  const table = t.unique('made')
  t.after(() => change(t, `drop table if exists public.${table}`, table, 404))
  const sql = [
    `create table public.${table} (id int primary key, branch_id int references public.conformance_branches)`,
    `insert into public.${table} values (1, 2)`,
    `grant select on public.${table} to anon`,
  ]
  await change(t, sql.join(';'), table + query, 200)
  return table
}

catalog.case('table', 'a new table is read after the notification', async (t) => {
  const table = await readableTable(t)
  await t.get(table).is(200, [{ id: 1, branch_id: 2 }])
})

catalog.case('relationship', 'a new foreign key embeds after the notification', async (t) => {
  const query = '?select=id,conformance_branches(name)'
  const table = await readableTable(t, query)
  await t.get(table + query).is(200, [{ id: 1, conformance_branches: { name: 'Hill' } }])
})

catalog.case(
  'dropped',
  'a table that is dropped is not found after the notification',
  async (t) => {
    const table = await readableTable(t)
    await change(t, `drop table public.${table}`, table, 404)
    await t.get(table).has(404, {
      code: 'PGRST205',
      message: `Could not find the table 'public.${table}' in the schema cache`,
    })
  },
)

catalog.case('function', 'a new function is called after the notification', async (t) => {
  const name = t.unique('called')
  const path = `rpc/${name}?a=1`
  t.after(() => change(t, `drop function if exists public.${name}(int)`, path, 404))
  const body = `language sql immutable as 'select a + 1'`
  await change(t, `create function public.${name}(a int) returns int ${body}`, path, 200)
  await t.get(path).is(200, 2)
})
