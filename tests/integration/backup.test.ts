/** Backups in a folder, and restores: into a new folder, in place, and of single tables and buckets. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { memory } from '../../bench/lib/processes.mjs'
import {
  archives,
  backupFolder,
  backupSettings,
  basalt,
  metric,
  passphrase,
  pgbackrest,
} from '../support/backup.mjs'
import { service } from '../support/notes.ts'
import { Server } from '../support/server.mjs'

const program = inject('own') === null ? null : pgbackrest()

/** Seconds that what was written last may be only on this machine. */
const MAX_LOSS = 5
/** How long something that the server does by itself may take. */
const patience = { timeout: 45_000, interval: 250 }

const tables = `
  create table public.notes (id uuid primary key default gen_random_uuid(), body text not null);
  grant all on public.notes to service_role;
  notify pgrst, 'reload schema'`

describe.skipIf(program === null)('backups', { timeout: 120_000 }, () => {
  const first = randomBytes(200_000)
  const second = randomBytes(1000)
  let folder: string
  let target: string
  let project: string
  let server: Server
  /** Before anything was changed. */
  let moment: string
  /** The end of the timeline that a restore in place replaced, and that of the one that it began. */
  let replaced: string
  let undone: string
  let secrets: string[]

  const env = () => backupSettings(target, program ?? '', MAX_LOSS)
  const start = async (dataDir?: string) => {
    const data = dataDir === undefined ? {} : { dataDir }
    return Server.start({ ...data, project, env: env(), keepsLog: true })
  }
  const run = (...words: string[]) => basalt(server.instance, words, server.environment)
  const bodies = async (of = server) =>
    (await of.psql('select body from public.notes order by body')).split('\n').filter(Boolean)
  /** Restores a moment beside the server, and returns what was in it. */
  const bodiesAt = async (to: string) => {
    const dataDir = path.join(await mkdtemp(path.join(folder, 'at-')), 'data')
    const flags = ['restore', '--to', to]
    const { status, output } = await basalt(
      { ...server.instance, dataDir },
      flags,
      server.environment,
    )
    expect(output).toContain('Restored to')
    expect(status).toBe(0)
    const copy = await Server.start({ dataDir, project, env: env(), keepsLog: true })
    const found = await bodies(copy)
    await copy.stop()
    return found
  }
  const bucket = (of = server) => service(of.access).storage.from('kept')
  const digest = async (name: string, of = server) => {
    const { data } = await bucket(of).download(name)
    return data === null ? null : hash(Buffer.from(await data.arrayBuffer()))
  }
  const users = async (of = server) =>
    (await service(of.access).auth.admin.listUsers()).data.users.map((user) => user.email)

  beforeAll(async () => {
    folder = await backupFolder()
    target = path.join(folder, 'target')
    project = path.join(folder, 'project')
    await mkdir(project)
    await writeFile(path.join(project, 'config.toml'), '')
    server = await start()
    const key = await readFile(path.join(server.dataDir, 'backup-key.txt'), 'utf8')
    const [, ageKey = ''] = /(AGE-SECRET-KEY-\S+)/i.exec(key) ?? []
    secrets = [passphrase, ageKey || key.trim(), server.access.serviceKey]
    await server.psql(tables)
    const { storage, auth } = service(server.access)
    expect((await storage.createBucket('kept', { public: false })).error).toBeNull()
    expect((await bucket().upload('changed', first)).error).toBeNull()
    expect((await bucket().upload('removed', second)).error).toBeNull()
    await server.psql("insert into public.notes (body) values ('one'), ('two')")
    const email = 'kept@example.com'
    expect((await auth.admin.createUser({ email, email_confirm: true })).error).toBeNull()
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test('begin at once, with one that is verified', async () => {
    const list = async () => (await run('backup', 'list')).output
    await expect.poll(list, patience).toMatch(/^\S+F {2}full .* verified: .* ok$/m)
    expect(await metric(server, 'last_timestamp_seconds')).toBeGreaterThan(0)
    expect(await metric(server, 'verified_timestamp_seconds')).toBeGreaterThan(0)
    expect(await metric(server, 'damaged')).toBe(0)
    expect(await metric(server, 'late')).toBe(0)
  })

  test('fit into a small machine from the start, though a passphrase takes memory', () => {
    expect(memory(server.process.pid ?? 0).peak).toBeLessThan(400 * 2 ** 20)
  })

  test('have what was there before it was changed', async () => {
    moment = await server.psql('select clock_timestamp()')
    const removed = await bucket().remove(['removed'])
    expect(removed.data).toHaveLength(1)
    const changed = await bucket().upload('changed', second, { upsert: true })
    expect(changed.error).toBeNull()
    await server.psql("delete from public.notes; insert into public.notes (body) values ('new')")
    const { auth } = service(server.access)
    const { data } = await auth.admin.listUsers()
    for (const { id } of data.users) await auth.admin.deleteUser(id)
    expect(await archives(server)).toBe(true)
  })

  test('do not open with another passphrase', async () => {
    const file = path.join(folder, 'wrong')
    await writeFile(file, 'another passphrase\n')
    const elsewhere = { ...server.instance, dataDir: path.join(folder, 'refused') }
    const flags = ['--target', target, '--passphrase-file', file, '--to', moment]
    const { status, output } = await basalt(elsewhere, ['restore', ...flags], bare())
    expect(status).not.toBe(0)
    expect(output).toMatch(/passphrase/)
  })

  test('bring a moment back on another machine, as a copy that makes no backups', async () => {
    const file = path.join(folder, 'passphrase')
    await writeFile(file, `${passphrase}\n`)
    const elsewhere = path.join(folder, 'elsewhere')
    await mkdir(elsewhere)
    await writeFile(path.join(elsewhere, 'config.toml'), '')
    const dataDir = path.join(folder, 'restored')
    const instance = { binary: server.binary, dataDir, project: elsewhere }
    const flags = ['--target', target, '--passphrase-file', file, '--to', moment]
    const { status, output } = await basalt(instance, ['restore', ...flags], bare())
    expect(output).toContain('Restored to')
    expect(status).toBe(0)

    const copy = await Server.start({ dataDir, project: elsewhere, env: env(), keepsLog: true })
    expect(copy.access.anonKey).toBe(server.access.anonKey)
    expect(copy.access.serviceKey).toBe(server.access.serviceKey)
    expect(await bodies(copy)).toEqual(['one', 'two'])
    expect(await users(copy)).toEqual(['kept@example.com'])
    expect(await digest('changed', copy)).toBe(hash(first))
    expect(await digest('removed', copy)).toBe(hash(second))
    expect(await bodies()).toEqual(['new'])

    expect((await bucket(copy).upload('of the copy', second)).error).toBeNull()
    const created = await basalt(copy.instance, ['backup', 'create'], copy.environment)
    expect(created.status).not.toBe(0)
    expect(created.output).toContain('backup adopt')
    const version = await copy.psql(
      "select version from storage.objects where name = 'of the copy'",
    )
    // Longer than the original takes.
    await new Promise((resolve) => setTimeout(resolve, 3000))
    expect((await files(target)).filter((name) => name.includes(version))).toEqual([])
    expect(await copy.psql('show archive_mode')).toBe('off')
    await copy.stop()
  })

  test('bring one table back beside the one that runs', async () => {
    const { status, output } = await run(
      ...['restore', '--to', moment, '--only', 'table', 'public.notes'],
    )
    expect(output).toContain('2 rows of public.notes')
    expect(status).toBe(0)
    expect(await server.psql('select body from restored.notes order by 1')).toBe('one\ntwo')
    expect(await bodies()).toEqual(['new'])
  })

  test('bring the objects back that a bucket lost', async () => {
    const { status, output } = await run(...['restore', '--to', moment, '--only', 'bucket', 'kept'])
    expect(output).toContain('1 objects are in the bucket kept again')
    expect(status).toBe(0)
    expect(await digest('removed')).toBe(hash(second))
    expect(await digest('changed')).toBe(hash(second))
  })

  test('wait for a target that is away, and catch up', async () => {
    const [database, objects] = [path.join(target, 'database'), path.join(target, 'objects')]
    const { mode } = await stat(database)
    const before = server.log.length
    await chmod(database, 0)
    await rename(objects, `${objects}-away`)
    await writeFile(objects, '')
    try {
      await server.psql("insert into public.notes (body) values ('meanwhile')")
      expect((await bucket().upload('meanwhile', first)).error).toBeNull()
      await expect.poll(() => metric(server, 'late'), patience).toBe(1)
      expect(server.log.slice(before)).toMatch(/ERROR.*backups do not work/)
      expect((await run('backup', 'list')).status).not.toBe(0)
      expect(await bodies()).toEqual(['meanwhile', 'new'])
      expect(await digest('meanwhile')).toBe(hash(first))
    } finally {
      await rm(objects)
      await rename(`${objects}-away`, objects)
      await chmod(database, mode & 0o777)
    }
    await expect.poll(() => metric(server, 'late'), patience).toBe(0)
    expect(await archives(server)).toBe(true)
    const version = await server.psql(
      "select version from storage.objects where name = 'meanwhile'",
    )
    expect((await files(target)).some((name) => name.includes(version))).toBe(true)
  })

  test('name each file that is damaged', async () => {
    const all = await files(target)
    const object = all.find((name) => /^objects\/.*\.age$/.test(name)) ?? ''
    const bundle = all.find((name) => name.endsWith('bundle/1')) ?? ''
    const repair = [
      await damage(path.join(target, object)),
      await damage(path.join(target, bundle)),
    ]
    const { status, output } = await run('backup', 'verify')
    for (const undo of repair) await undo()
    expect(output).toContain(`${object} is damaged`)
    expect(output).toMatch(/bundle\/1|invalid checksum/)
    expect(status).not.toBe(0)
    expect((await run('backup', 'list')).output).not.toMatch(/ ok$/m)
  })

  test('put a moment in place of the present, and the present back', async () => {
    replaced = await server.psql('select clock_timestamp()')
    await server.stop({ keepData: true })
    const inPlace = await run('restore', '--in-place', '--to', moment)
    expect(inPlace.output).toContain('restore --back')
    expect(inPlace.status).toBe(0)
    server = await start(server.dataDir)
    expect(await bodies()).toEqual(['one', 'two'])
    expect(await digest('changed')).toBe(hash(first))
    expect(await digest('removed')).toBe(hash(second))
    await server.psql("insert into public.notes (body) values ('undone')")
    undone = await server.psql('select clock_timestamp()')
    await server.stop({ keepData: true })
    // The database has left it: its own time has only what was there at the other moment.
    expect(await bodiesAt(replaced)).toEqual(['meanwhile', 'new'])

    const back = await run('restore', '--back')
    expect(back.output).toContain('from before the restore is back')
    expect(back.status).toBe(0)
    server = await start(server.dataDir)
    expect(await bodies()).toEqual(['meanwhile', 'new'])
    expect(await digest('changed')).toBe(hash(second))
    expect(await digest('meanwhile')).toBe(hash(first))
    await server.psql("insert into public.notes (body) values ('after')")
    expect(await archives(server)).toBe(true)
  })

  test('bring the moments back that a restore in place had replaced, or that were undone', async () => {
    expect(await bodiesAt(replaced)).toEqual(['meanwhile', 'new'])
    expect(await bodiesAt(undone)).toEqual(['one', 'two', 'undone'])
    const now = await server.psql('select clock_timestamp()')
    expect(await archives(server)).toBe(true)
    expect(await bodiesAt(now)).toEqual(['after', 'meanwhile', 'new'])
  })

  test('keep the bytes of an object as long as a moment needs them', async () => {
    const versionOf = (name: string) =>
      server.psql(`select version from storage.objects where name = '${name}'`)
    const [kept, gone] = [await versionOf('changed'), await versionOf('meanwhile')]
    expect((await bucket().remove(['meanwhile'])).error).toBeNull()
    const named = async (version: string) =>
      (await files(target)).filter((name) => name.includes(version))
    const mark = async () => (await named(gone)).find((name) => name.startsWith('removed/')) ?? ''
    await expect.poll(mark, patience).not.toBe('')
    expect((await run('backup', 'prune')).status).toBe(0)
    expect(await named(gone)).toHaveLength(2)

    // Before the first backup began.
    const long = path.join(target, 'removed', `1000-${gone}`)
    await rename(path.join(target, await mark()), long)
    await writeFile(path.join(target, 'removed', `1000-${kept}`), '')
    await writeFile(path.join(target, 'settings/1000.age'), '')
    expect((await run('backup', 'prune')).status).toBe(0)
    expect(await named(gone)).toEqual([])
    // It has an object again.
    expect((await named(kept)).filter((name) => name.startsWith('objects/'))).toHaveLength(1)
    expect(await digest('changed')).toBe(hash(second))
    const settings = (await files(target)).filter((name) => name.startsWith('settings/'))
    expect(settings).not.toContain('settings/1000.age')
    expect(settings.length).toBeGreaterThan(0)
  })

  test('have no secret in the log', () => {
    for (const secret of secrets) expect(server.log).not.toContain(secret)
  })
})

/** A Postgres whose `postgres` is the superuser, with the password that everybody knows. */
const old = '/usr/lib/postgresql/15/bin'

describe.skipIf(program === null || !existsSync(old))('backups of Postgres 15', () => {
  let folder: string
  let server: Server
  const list = async () =>
    (await basalt(server.instance, ['backup', 'list'], server.environment)).output

  beforeAll(async () => {
    folder = await backupFolder()
    await writeFile(path.join(folder, 'config.toml'), '')
    const env = {
      ...backupSettings(path.join(folder, 'target'), program ?? '', MAX_LOSS),
      BASALT_BACKUP_MAX_WAITING_MB: '64',
      POSTGRES_BIN: old,
    }
    const dataDir = path.join(folder, 'data')
    server = await Server.start({ project: folder, dataDir, env, keepsLog: true })
  })

  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('are verified', async () => {
    await expect.poll(list, patience).toMatch(/ verified: .* ok$/m)
  })

  test('are late after a gap in the log until the next one', { timeout: 150_000 }, async () => {
    const database = path.join(folder, 'target/database')
    const { mode } = await stat(database)
    const failures = async () =>
      Number(await server.psql('select failed_count from pg_stat_archiver'))
    await chmod(database, 0)
    try {
      await server.psql('create table public.gap (id int)')
      // A file of the log each, more than may wait.
      for (let file = 0; file < 8; file += 1) {
        await server.psql('insert into public.gap values (1)')
        await server.psql('select pg_switch_wal()')
      }
      await expect.poll(failures, patience).toBeGreaterThan(0)
      await expect.poll(() => metric(server, 'log_waiting_bytes'), patience).toBeLessThan(2 ** 26)
      await expect.poll(() => server.log, patience).toMatch(/ERROR.*the write-ahead log has a gap/)
      expect(await metric(server, 'late')).toBe(1)
    } finally {
      await chmod(database, mode & 0o777)
    }
    await expect.poll(() => metric(server, 'late'), { timeout: 90_000, interval: 250 }).toBe(0)
    expect((await list()).match(/ ended: /g)).toHaveLength(2)
  })
})

/** Returns this process's environment without settings of backups. */
function bare(): NodeJS.ProcessEnv {
  return { ...process.env, BASALT_PGBACKREST: program ?? '', BASALT_LOG_FORMAT: 'text' }
}

const hash = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Returns the paths of the files below a folder. */
async function files(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort()
}

/** Changes a byte in the middle of a file; returns what puts it back. */
async function damage(file: string) {
  const bytes = await readFile(file)
  const changed = Buffer.from(bytes)
  const middle = Math.floor(bytes.length / 2)
  changed[middle] = (changed[middle] ?? 0) ^ 0xff
  await writeFile(file, changed)
  return () => writeFile(file, bytes)
}
