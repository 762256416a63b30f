/** What a target tells of itself: the settings of auth, and the catalogue of the database. */
import { Client } from 'pg'

import { readJson } from '../body.ts'
import { display } from '../difference.ts'
import { Unreachable } from '../run.ts'
import type { Target } from '../target.ts'

/** The response of `/auth/v1/settings`. */
export interface AuthSettings {
  external: Readonly<Record<string, boolean>>
  disable_signup: boolean
  saml_enabled: boolean
  passkeys_enabled?: boolean
}

/** What the database has. */
export interface Database {
  /** The major version. */
  version: number
  walLevel: string
  isSuperuser: boolean
  user: string
  /** Those that can be made, or are. */
  extensions: ReadonlySet<string>
  roles: ReadonlySet<string>
  schemas: ReadonlySet<string>
  publications: ReadonlySet<string>
  /** Relations, types and functions of the platform's schemas, `auth.uid`. */
  objects: ReadonlySet<string>
}

/** Null for what could not be asked. */
export interface Facts {
  auth: AuthSettings | null
  database: Database | null
}

/** Asks the target. Throws `Unreachable` where its database does not respond. */
export async function askTarget(target: Target): Promise<Facts> {
  const [auth, database] = await Promise.all([askAuth(target), askDatabase(target.databaseUrl)])
  return { auth, database }
}

async function askAuth({ url, anonKey }: Target): Promise<AuthSettings | null> {
  try {
    const response = await fetch(`${url}/auth/v1/settings`, {
      headers: { apikey: anonKey },
      redirect: 'error',
      signal: AbortSignal.timeout(20_000),
    })
    const settings = response.ok ? ((await readJson(response)) as Partial<AuthSettings>) : {}
    return typeof settings.external === 'object' ? (settings as AuthSettings) : null
  } catch {
    // Whether there is a response at all is what the run of the cases finds out.
    return null
  }
}

const platformNames = "('auth', 'storage', 'realtime', 'supabase_functions', 'pgmq_public')"

const question = `
  select
    current_setting('server_version_num')::int / 10000 as version,
    current_setting('wal_level') as wal_level,
    current_user as user,
    (select rolsuper from pg_roles where rolname = current_user) as is_superuser,
    (select json_agg(name) from pg_available_extensions) as extensions,
    (select json_agg(rolname) from pg_roles) as roles,
    (select json_agg(nspname) from pg_namespace) as schemas,
    (select json_agg(pubname) from pg_publication) as publications,
    (select json_agg(distinct nspname || '.' || name) from (
      select relnamespace as namespace, relname as name from pg_class
      union all select pronamespace, proname from pg_proc
      union all select typnamespace, typname from pg_type
    ) as object join pg_namespace on pg_namespace.oid = namespace
    where nspname in ${platformNames}) as objects`

async function askDatabase(connectionString: string): Promise<Database | null> {
  if (connectionString === '') return null
  const client = new Client({
    connectionString,
    application_name: 'basalt-conformance',
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query(question)
    const row = rows[0] ?? {}
    const set = (name: string) => new Set((row[name] as string[] | null) ?? [])
    return {
      ...{ version: Number(row.version), walLevel: String(row.wal_level), user: String(row.user) },
      isSuperuser: row.is_superuser === true,
      ...{ extensions: set('extensions'), roles: set('roles'), schemas: set('schemas') },
      ...{ publications: set('publications'), objects: set('objects') },
    }
  } catch (error) {
    throw new Unreachable(`the database could not be asked: ${display(error)}`)
  } finally {
    await client.end().catch(() => undefined)
  }
}
