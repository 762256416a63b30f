/** Backups for a public key, which are restored with its private key; and copies that serve or take over at once. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { ageKeys } from '../support/age.mjs'
import { bodies, note, patience, Project, tables } from '../support/backup-project.ts'
import { archives, basalt, passphrase, pgbackrest } from '../support/backup.mjs'
import { service } from '../support/notes.ts'
import { Server, type Options } from '../support/server.mjs'

const program = inject('own') === null ? null : pgbackrest()

/** A cron job, and where it leaves its traces. */
const EVERY_SECOND = `
  create table public.ticks (at timestamptz default now());
  select cron.schedule('tick', '1 second', 'insert into public.ticks default values')`

/** What is in the object. */
const PAGE = 'a page that only readers of the project know'

describe.skipIf(program === null)('backups for a public key', { timeout: 120_000 }, () => {
  const [mine, other] = [ageKeys(), ageKeys()]
  let project: Project
  let env: Record<string, string>
  /** The files with the private keys. */
  let identity: string
  let wrong: string

  /** Returns the flags that name the target and what opens it. */
  const from = (...words: string[]) => ['--target', project.target, ...words]
  const page = async ({ access }: Server) => {
    const { data } = await service(access).storage.from('kept').download('page')
    return data?.text()
  }
  /** Starts another server on a restored folder. */
  const startCopy = (dataDir: string, more: Partial<Options> = {}) =>
    Server.start({
      project: project.folder,
      dataDir,
      ...more,
      env: { ...project.server.environment, ...env, ...more.env },
      keepsLog: true,
    })

  /** Runs `basalt restore` on a machine that has the target, and no settings. */
  const restore = (name: string, ...words: string[]) =>
    project.restore(name, words, { BASALT_BACKUP_TARGET: '', BASALT_BACKUP_RECIPIENT: '' })

  beforeAll(async () => {
    project = await Project.prepare(program)
    identity = path.join(project.folder, 'identity')
    wrong = path.join(project.folder, 'wrong')
    // The file has the lines of age-keygen.
    const text = ({ recipient, identity }: typeof mine) =>
      `# created: 2026-11-29T12:00:00Z\n# public key: ${recipient}\n${identity}\n`
    await writeFile(identity, text(mine))
    await writeFile(wrong, text(other))
    env = { BASALT_BACKUP_PASSPHRASE_FILE: '', BASALT_BACKUP_RECIPIENT: mine.recipient }
    await project.start(undefined, env)
    await project.server.psql(tables)
    const { storage } = service(project.server.access)
    expect((await storage.createBucket('kept', { public: false })).error).toBeNull()
    expect((await storage.from('kept').upload('page', PAGE)).error).toBeNull()
    await project.has(1)
    expect((await project.run('backup', 'create')).status).toBe(0)
    await note(project.server, 'of the first')
    expect(await archives(project.server)).toBe(true)
  })

  afterAll(() => project.end())

  test('are written without its private key, and show nothing of what they hold', async () => {
    const entries = await readdir(project.target, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const names = files.map(({ name }) => name)
    expect(names).toContain('key-recipient.age')
    expect(names).not.toContain('key-passphrase.age')
    for (const { parentPath, name } of files)
      expect((await readFile(path.join(parentPath, name))).includes(PAGE)).toBe(false)
  })

  test('are opened with nothing else', async () => {
    const words = path.join(project.folder, 'words')
    await writeFile(words, passphrase)
    for (const [flags, says] of [
      [[], 'name what opens the backups: --passphrase-file or --identity'],
      [['--passphrase-file', words], 'these backups are opened with a private key of age'],
      [['--identity', wrong], 'private key is not that of these backups'],
      [['--identity', words], 'private key is not that of these backups'],
      [['--identity', path.join(project.folder, 'nowhere')], 'read'],
    ] as const) {
      const { dataDir, status, output } = await restore('refused', ...from(...flags))
      expect(output).toContain(says)
      expect(status).not.toBe(0)
      expect(existsSync(path.join(dataDir, 'postgres'))).toBe(false)
    }
  })

  test('are restored with it, on a machine that has only the target', async () => {
    const { dataDir, status, output } = await restore('restored', ...from('--identity', identity))
    expect(output).toContain('Restored to')
    expect(status).toBe(0)
    const copy = await startCopy(dataDir)
    expect(await bodies(copy)).toEqual(['of the first'])
    expect(await page(copy)).toBe(PAGE)
    expect(copy.access).toMatchObject({
      anonKey: project.server.access.anonKey,
      serviceKey: project.server.access.serviceKey,
    })
    await copy.stop()
  })

  test('are served as soon as they are restored, beside the server that runs', async () => {
    const command = ['restore', '--serve', ...from('--identity', identity)]
    const dataDir = path.join(project.folder, 'served')
    // The port is that of the server that runs, and the settings do not say that another one may be taken.
    const folder = path.join(project.folder, 'beside')
    await mkdir(folder)
    const { port } = new URL(project.server.access.url)
    await writeFile(path.join(folder, 'config.toml'), `[api]\nport = ${port}\n`)
    const env = { BASALT_ANY_PORT: 'false' }
    const copy = await startCopy(dataDir, { project: folder, command, env })
    expect(copy.access.url).not.toBe(project.server.access.url)
    expect(await bodies(copy)).toEqual(['of the first'])
    expect(await page(copy)).toBe(PAGE)
    await note(copy, 'of the copy')
    expect(await bodies(project.server)).toEqual(['of the first'])
    // What the original does at its times, a copy does not do once more.
    await copy.psql(`create extension if not exists pg_cron; ${EVERY_SECOND}`)
    await pause(3000)
    expect(await copy.psql('select count(*) from public.ticks')).toBe('0')
    // It makes no backups.
    expect(await copy.psql('show archive_mode')).toBe('off')
    const created = await basalt(copy.instance, ['backup', 'create'], copy.environment)
    expect(created.output).toContain('backup adopt')
    expect(created.status).not.toBe(0)
    await copy.stop({ keepData: true })
    expect(copy.process.exitCode).toBe(0)
  })

  test('go on in a copy that takes over when it is restored', async () => {
    await note(project.server, 'last')
    await project.server.stop({ keepData: true })
    const flags = from('--adopt', '--identity', identity)
    const { dataDir, status, output } = await restore('taken over', ...flags)
    expect(output).not.toContain('basalt backup adopt')
    expect(status).toBe(0)
    await project.start(dataDir, env)
    expect(await bodies(project.server)).toEqual(['last', 'of the first'])
    await project.server.psql(`create extension if not exists pg_cron; ${EVERY_SECOND}`)
    const ticks = () => project.server.psql('select count(*) > 0 from public.ticks')
    await expect.poll(ticks, patience).toBe('t')
    await project.has(3)
    await note(project.server, 'of the successor')
    expect(await archives(project.server)).toBe(true)
    const again = await restore('from the successor', ...from('--identity', identity))
    expect(again.status).toBe(0)
    const copy = await startCopy(again.dataDir)
    expect(await bodies(copy)).toEqual(['last', 'of the first', 'of the successor'])
    await copy.stop()
  })

  test('get another public key and a passphrase, which open the earlier ones, too', async () => {
    // Before the first backup, so that nothing is restored.
    const opens = async (...flags: string[]) => {
      const at = ['--to', '2020-01-01 00:00:00+00']
      const { output } = await restore('tried', ...from(...flags, ...at))
      return output.includes('the backups begin at')
    }
    expect(await opens('--identity', identity)).toBe(true)
    const { dataDir } = project.server
    await project.server.stop({ keepData: true })
    await project.start(dataDir, { BASALT_BACKUP_RECIPIENT: other.recipient })
    await expect.poll(() => opens('--identity', wrong), patience).toBe(true)
    expect(await opens('--identity', identity)).toBe(false)
    await expect.poll(() => opens('--passphrase-file', project.file), patience).toBe(true)
  })
})
