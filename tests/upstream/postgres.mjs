import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { Postgres } from '../support/postgres.mjs'

const platform = path.resolve(import.meta.dirname, '../../schema/platform')

/** What every login role signs in with: the cluster is reached from this machine alone, and thrown away. */
const password = 'upstream'

/** What the services find in Supabase's database image before their own migrations run. */
const schemas = `
  create schema auth authorization supabase_auth_admin;
  grant usage on schema auth to anon, authenticated, service_role, postgres;
  create schema storage authorization supabase_storage_admin;
  grant usage on schema storage to anon, authenticated, service_role, postgres;
  alter default privileges for role supabase_storage_admin in schema storage
    grant all on tables to postgres, anon, authenticated, service_role;
  alter default privileges for role supabase_storage_admin in schema storage
    grant all on sequences to postgres, anon, authenticated, service_role;
  alter default privileges for role supabase_storage_admin in schema storage
    grant all on routines to postgres, anon, authenticated, service_role;
  grant create on database postgres to supabase_auth_admin, supabase_storage_admin;
  create publication supabase_realtime;
  alter publication supabase_realtime owner to postgres;
  -- PostgREST hears of every change of the schema, as there.
  create function extensions.pgrst_ddl_watch() returns event_trigger language plpgsql as $$
    begin notify pgrst, 'reload schema'; end $$;
  create event trigger pgrst_ddl_watch on ddl_command_end execute function extensions.pgrst_ddl_watch();
  create event trigger pgrst_drop_watch on sql_drop execute function extensions.pgrst_ddl_watch();
`

/**
 * Makes and starts a throwaway cluster with the roles and schemas of Supabase's database image, for the services of
 * upstream.
 * @param {string} folder an empty one that every user may enter
 */
export async function startCluster(folder) {
  const settings = {
    // Nothing of it has to outlive the run.
    fsync: 'off',
  }
  const cluster = await Postgres.create(folder, { user: 'supabase_admin', password, settings })
  await cluster.start()
  try {
    await prepare(cluster)
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

/** @param {Postgres} cluster */
async function prepare(cluster) {
  await cluster.sql('create role postgres login createdb createrole replication bypassrls')
  for (const name of ['0001_roles.sql', '0002_schemas.sql']) {
    await cluster.sql(await readFile(path.join(platform, name), 'utf8'))
  }
  const logins = ['postgres', 'authenticator', 'supabase_auth_admin', 'supabase_storage_admin']
  const passwords = logins.map((role) => `alter role ${role} password '${password}';`)
  await cluster.sql(passwords.join('\n') + schemas)
}
