/** The kit's own schema: everything in `public` whose name begins with `conformance_`. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { Client } from 'pg'

import { absentStatuses, type Target } from './target.ts'

/** How long the server may take until it sees a new schema, in milliseconds. */
const reloadLimit = 30_000

/** Names the lock that every run holds, so that none removes the schema while another uses it. */
const lock = "hashtext('basalt-conformance')"

/** Returns the SQL that makes the schema, to be run by hand where there is no connection to the database. */
export async function setupSql(madeBy: 'hand' | 'run' = 'hand'): Promise<string> {
  const [teardown, setup] = await Promise.all([read('teardown.sql'), read('setup.sql')])
  const values = `'${await setupVersion()}', '${madeBy}'`
  const mark = `insert into public.conformance_setup (version, made_by) values (${values});`
  return [
    '-- Everything is made anew; nothing without the prefix conformance_ is touched.',
    'begin;',
    teardown,
    setup,
    mark,
    'commit;',
    "notify pgrst, 'reload schema';",
    '',
  ].join('\n')
}

/** Returns whether the kit's schema is there in this version, as REST sees it. */
export async function sqlIsThere(target: Target): Promise<boolean> {
  const version = await setupVersion()
  try {
    const setup = await ask(target, 'conformance_setup?select=version')
    const rows = setup.ok ? ((await setup.json()) as { version: string }[]) : []
    if (rows[0]?.version !== version) return false
    // Tables may respond before REST has read the schema; relations and functions do not.
    const books = await ask(
      target,
      'conformance_books?select=id,conformance_publishers(id)&limit=1',
    )
    await books.body?.cancel()
    return books.ok
  } catch {
    return false
  }
}

/** The schema as one run of the kit holds it. */
export class Schema {
  private constructor(
    private readonly client: Client,
    private readonly madeByRun: boolean,
  ) {}

  /** Makes the schema where it is not there in this version, and waits until REST sees it. */
  static async hold(target: Target): Promise<Schema> {
    const client = new Client({
      connectionString: target.databaseUrl,
      application_name: 'basalt-conformance',
      connectionTimeoutMillis: 10_000,
    })
    // A connection that breaks is noticed by the next statement.
    client.on('error', () => undefined)
    await client.connect()
    // Whoever makes or removes the schema is alone; all others share the lock.
    await client.query(`select pg_advisory_lock(${lock})`)
    const present = await version(client)
    if (present?.version !== (await setupVersion())) {
      await client.query(await setupSql('run'))
    }
    const madeByRun = (await version(client))?.made_by === 'run'
    await client.query(`select pg_advisory_lock_shared(${lock})`)
    await client.query(`select pg_advisory_unlock(${lock})`)
    await waitUntilVisible(target)
    return new Schema(client, madeByRun)
  }

  /** Removes the schema, if a run of the kit made it and no other run uses it. */
  async release(): Promise<void> {
    if (this.madeByRun) {
      await this.client.query(`select pg_advisory_unlock_shared(${lock})`)
      const { rows } = await this.client.query(`select pg_try_advisory_lock(${lock}) as alone`)
      if (rows[0]?.alone === true) {
        await this.client.query(await read('teardown.sql'))
        await this.client.query("notify pgrst, 'reload schema'")
      }
    }
    await this.client.end()
  }
}

async function setupVersion(): Promise<string> {
  return createHash('sha256')
    .update(await read('setup.sql'))
    .digest('hex')
    .slice(0, 16)
}

async function version(client: Client): Promise<{ version: string; made_by: string } | undefined> {
  const { rows } = await client.query(
    "select to_regclass('public.conformance_setup') is not null as made",
  )
  if (rows[0]?.made !== true) return undefined
  const setup = await client.query('select version, made_by from public.conformance_setup')
  return setup.rows[0] as { version: string; made_by: string } | undefined
}

/** Waits until REST sees the schema; whether it ever does is found out by the need "sql". */
async function waitUntilVisible(target: Target): Promise<void> {
  const end = performance.now() + reloadLimit
  while (!(await sqlIsThere(target)) && performance.now() < end) {
    const root = await fetch(`${target.url}/rest/v1/`, {
      redirect: 'manual',
      signal: AbortSignal.timeout(10_000),
    })
    await root.body?.cancel()
    if (absentStatuses.includes(root.status)) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

function ask({ url, anonKey }: Target, path: string): Promise<Response> {
  return fetch(`${url}/rest/v1/${path}`, {
    headers: { apikey: anonKey, authorization: `Bearer ${anonKey}` },
    redirect: 'error',
    signal: AbortSignal.timeout(10_000),
  })
}

function read(name: string): Promise<string> {
  return readFile(new URL(`../sql/${name}`, import.meta.url), 'utf8')
}
