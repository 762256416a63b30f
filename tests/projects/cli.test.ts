// The stock Supabase CLI against a server with data: what it can do without Docker works, and nothing of the platform
// changes, also where it drops all that is not the platform's.

import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { beforeAll, describe, expect, test } from 'vitest'

import { connect } from '../support/client.ts'
import { runsTestsOf } from '../support/extensions.mjs'
import { Server } from '../support/server.mjs'

const run = promisify(execFile)
const program = path.resolve(import.meta.dirname, '../../node_modules/.bin/supabase')

/** What of the platform no tool may change: schemas and their owners, and how much there is of everything else. */
const PLATFORM = `
  select jsonb_build_object(
    'schemas', (select jsonb_object_agg(nspname, nspowner::regrole) from pg_namespace
                where nspname !~ '^pg_' and nspname not in ('information_schema', 'supabase_migrations')),
    'event triggers', (select jsonb_agg(evtname order by 1) from pg_event_trigger),
    'triggers', (select count(*) from pg_trigger where not tgisinternal),
    'policies', (select count(*) from pg_policy where polrelid in ('storage.objects'::regclass, 'storage.buckets'::regclass)),
    'functions', (select count(*) from pg_proc p join pg_namespace n on n.oid = p.pronamespace where nspname <> 'public'),
    'relations', (select count(*) from pg_class c join pg_namespace n on n.oid = c.relnamespace
                  where nspname not in ('public', 'supabase_migrations') and nspname !~ '^pg_'),
    'extensions', (select jsonb_agg(extname order by 1) from pg_extension),
    'objects', (select count(*) from storage.objects),
    'publications', (select jsonb_agg(pubname order by 1) from pg_publication where pubname = 'supabase_realtime'))`

/** The project's tables, as far as the tests use them. */
interface Shop {
  public: {
    Tables: {
      goods: {
        Row: { id: number; name: string }
        Insert: { id: number; name: string }
        Update: { name?: string }
        Relationships: []
      }
    }
    Views: Record<string, never>
    Functions: Record<string, never>
  }
}

let folder: string
let dataDir: string
let server: Server
let database: string

/** Runs the CLI and returns what it prints. */
async function supabase(...words: string[]) {
  const running = run(program, [...words, '--yes'], {
    cwd: folder,
    timeout: 60_000,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', DO_NOT_TRACK: '1', CI: '1' },
  })
  // Some commands read what they are given, to its end.
  running.child.stdin?.end()
  const { stdout, stderr } = await running
  return stdout + stderr
}

const remote = () => `--remote=${database}`
const platform = async () => JSON.parse(await server.psql(PLATFORM)) as Record<string, unknown>
const service = () => connect<Shop>(server.access.url, server.access.serviceKey)

/** Starts the server of the project. */
async function start() {
  // On the port of config.toml, the CLI takes the database for its own stack's, and looks for a container.
  const env = { BASALT_DATABASE_PORT: '0' }
  server = await Server.start({ project: folder, folders: [folder], dataDir, env })
  const status = await server.status()
  database = status.DB_URL ?? ''
}

/** Uses all that the platform has rows for. */
async function use() {
  const client = service()
  const email = `fan-${String(Date.now())}@club.example`
  const user = await client.auth.admin.createUser({ email, password: 'correct horse' })
  expect(user.error).toBeNull()
  const listed = await client.storage.from('papers').list()
  expect(listed.data).toMatchObject([{ name: 'a.txt' }])
  const downloaded = await client.storage.from('papers').download('a.txt')
  expect(await downloaded.data?.text()).toBe('a paper')
  const goods = await client.from('goods').upsert({ id: 1, name: 'lamp' }).select()
  expect(goods).toMatchObject({ error: null, data: [{ name: 'lamp' }] })
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'basalt-cli-'))
  dataDir = await mkdtemp(path.join(tmpdir(), 'basalt-test-'))
  await cp(path.join(import.meta.dirname, 'cli'), folder, { recursive: true })
  await start()
  const { storage } = service()
  expect((await storage.createBucket('papers', { public: true })).error).toBeNull()
  expect((await storage.from('papers').upload('a.txt', 'a paper')).error).toBeNull()
}, 120_000)

describe('the CLI', () => {
  test('lists, fetches, repairs and applies migrations', async () => {
    const before = await platform()
    expect(await supabase('migration', 'list', remote())).toContain('20260102000000')
    await supabase('migration', 'repair', remote(), '--status', 'reverted', '20260102000000')
    await supabase('migration', 'repair', remote(), '--status', 'applied', '20260102000000')
    await rm(path.join(folder, 'supabase/migrations'), { recursive: true })
    await supabase('migration', 'fetch', remote())
    expect(await readdir(path.join(folder, 'supabase/migrations'))).toHaveLength(2)
    await supabase('migration', 'new', 'third')
    await supabase('migration', 'up', remote())
    expect(await supabase('db', 'push', remote())).toContain('up to date')
    expect(await supabase('db', 'query', remote(), 'select name from goods')).toContain('chair')
    expect(await platform()).toEqual(before)
  })

  test('pushes a migration, which Basalt then has, too', async () => {
    const before = await platform()
    const file = path.join(folder, 'supabase/migrations/20300101000000_shelves.sql')
    await writeFile(file, 'create table public.shelves (id int primary key, wide text);')
    expect(await supabase('db', 'push', remote(), '--dry-run')).toContain('20300101000000_shelves')
    expect(await server.psql("select to_regclass('shelves') is null")).toBe('t')
    expect(await supabase('db', 'push', remote(), '--include-seed')).toContain('Finished')
    expect(await server.psql("select to_regclass('shelves')")).toBe('shelves')
    expect(await supabase('db', 'push', remote())).toContain('up to date')
    const { binary, dataDir, project } = server.instance
    const flags = ['migrate', '--status', '--project', project, '--data-dir', dataDir]
    expect((await run(binary, flags)).stdout).toContain('Nothing is pending')
    expect(await platform()).toEqual(before)
  })

  test('makes a function, without Docker', async () => {
    expect(await supabase('functions', 'new', 'hello')).toContain('Created new Function')
    const made = path.join(folder, 'supabase/functions/hello')
    expect(await readdir(made)).toEqual(expect.arrayContaining(['deno.json', 'index.ts']))
    await rm(made, { recursive: true })
  })

  test('describes the database', async () => {
    const before = await platform()
    expect(await supabase('gen', 'types', remote())).toMatch(/goods\W+Row/)
    expect(await supabase('inspect', 'db', 'table-stats', remote())).toContain('public.goods')
    await supabase('db', 'advisors', remote())
    expect(await supabase('db', 'dump', '--dry-run', remote())).toContain('pg_dump')
    await supabase('db', 'pull', '--declarative', remote())
    expect(
      await readdir(path.join(folder, 'supabase/schemas'), { recursive: true }),
    ).not.toHaveLength(0)
    // What is declared there would be compared by the commands that follow.
    await rm(path.join(folder, 'supabase/schemas'), { recursive: true })
    expect(await platform()).toEqual(before)
  })

  test.each([
    'bloat',
    'blocking',
    'index-stats',
    'locks',
    'long-running-queries',
    'replication-slots',
    'role-stats',
    'table-stats',
    'traffic-profile',
    'vacuum-stats',
  ])('inspects %s', async (what) => {
    const before = await platform()
    expect(await supabase('inspect', 'db', what, remote())).toContain('|')
    expect(await platform()).toEqual(before)
  })

  test.skipIf(!runsTestsOf('plpgsql_check'))('lints functions', async () => {
    const before = await platform()
    await server.psql(
      `create function public.wrong() returns int language plpgsql as
         $$ begin return nothing from goods; end $$`,
    )
    expect(await supabase('db', 'lint', remote(), '--schema', 'public')).toContain('public.wrong')
    await server.psql('drop function public.wrong()')
    expect(await platform()).toEqual(before)
  })

  test('compares two databases by their URLs', async () => {
    const before = await platform()
    await server.psql('create database empty')
    const empty = database.replace(/postgres$/, 'empty')
    const diff = await supabase('db', 'diff', '--from', empty, '--to', database)
    expect(diff).toMatch(/CREATE TABLE "public"."goods"/)
    expect(diff).not.toMatch(/CREATE TABLE "(auth|storage|realtime|basalt)"/)
    await server.psql('drop database empty')
    expect(await platform()).toEqual(before)
  })

  test('inspects what the database does', async () => {
    const before = await platform()
    await server.psql('select extensions.pg_stat_statements_reset()')
    // A statement of the project alone: `select 1` is the same one for Postgres, whatever its column is called.
    const often = 'select name from public.goods where id = 1;'
    await server.psql(`select pg_sleep(0.5) as slow;${often.repeat(500)}`)
    expect(await supabase('inspect', 'db', 'outliers', remote())).toMatch(/pg_sleep.* as slow/)
    expect(await supabase('inspect', 'db', 'calls', remote())).toMatch(
      /select name from public\.goods where id = /,
    )
    for (const command of ['db-stats', 'cache-hit']) {
      expect(await supabase('inspect', 'db', command, remote())).toMatch(/hit rate/i)
    }
    await supabase('inspect', 'report', remote(), '--output-dir', 'report')
    const files = await readdir(path.join(folder, 'report'), { recursive: true })
    expect(files.filter((file) => file.endsWith('.csv')).length).toBeGreaterThan(10)
    expect(files.join(' ')).toMatch(/outliers.csv/)
    expect(await platform()).toEqual(before)
  })

  test.each([
    ['a reset', ['db', 'reset']],
    ['a migration that is taken back', ['migration', 'down', '--last', '1']],
  ])(
    'leaves the platform as it is with %s, and the server goes on and starts again',
    async (_, words) => {
      await use()
      const before = await platform()
      await supabase(...words, remote())
      expect(await platform()).toEqual(before)
      await use()
      await server.stop({ keepData: true })
      await start()
      await use()
      expect(await platform()).toEqual(before)
    },
  )
})
