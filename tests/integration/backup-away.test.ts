/** Backups whose target does not respond, or takes no more. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, readdir, rm, stat, writeFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import tls from 'node:tls'

import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { backupProcesses, configuration } from '../backup/processes.mjs'
import {
  archives,
  backupFolder,
  backupSettings,
  basalt,
  certificate,
  metric,
  pgbackrest,
  storeSettings,
} from '../support/backup.mjs'
import { service } from '../support/notes.ts'
import { psqlAsSuperuser, Server } from '../support/server.mjs'

const program = inject('own') === null ? null : pgbackrest()

const patience = { timeout: 45_000, interval: 250 }

/** How long the end of a server may take that does not wait for anything, in milliseconds. */
const SOON = 15_000

describe.skipIf(program === null)('a target of backups', { timeout: 120_000 }, () => {
  let folder: string
  let server: Server
  let store: tls.Server

  const start = async (env: Record<string, string> = {}) => {
    server = await Server.start({
      project: folder,
      dataDir: path.join(folder, 'data'),
      env: {
        ...backupSettings(path.join(folder, 'target'), program ?? '', 5),
        BASALT_BACKUP_VERIFY_DAYS: '0',
        ...env,
      },
      keepsLog: true,
    })
  }
  /** Writes a row, and has the file of the log archived that it is in. */
  const write = async (row: string) => {
    await server.psql(`insert into public.notes (body) values ('${row}')`)
    await psqlAsSuperuser(server.instance, 'select pg_switch_wal()')
  }

  beforeAll(async () => {
    folder = await backupFolder()
    await writeFile(path.join(folder, 'config.toml'), '')
    store = tls.createServer(await certificate())
    store.listen(0, '127.0.0.1')
    await once(store, 'listening')
    await start()
    await server.psql('create table public.notes (body text not null)')
    await vi.waitFor(async () => {
      const { output } = await basalt(server.instance, ['backup', 'list'], server.environment)
      expect(output).toContain(' ended: ')
    }, patience)
  })

  afterAll(async () => {
    await server.stop()
    store.close()
    await rm(folder, { recursive: true, force: true })
  })

  test('that is silent does not keep the server from ending, and gets the rest later', async () => {
    await server.stop({ keepData: true })
    const { port } = store.address() as AddressInfo
    await start({ BASALT_BACKUP_TARGET: 's3://silent/bucket', ...storeSettings(port) })
    const file = await configuration(server.dataDir)
    const { storage } = service(server.access)
    expect((await storage.createBucket('kept', { public: false })).error).toBeNull()
    expect((await storage.from('kept').upload('waits', randomBytes(100_000))).error).toBeNull()
    await write('one')
    await write('two')
    await expect.poll(() => backupProcesses(file, /^archive-push:async/), patience).toHaveLength(1)
    await server.psql("insert into public.notes (body) values ('three')")

    const begin = performance.now()
    await server.stop({ keepData: true })
    expect(performance.now() - begin).toBeLessThan(SOON)
    expect(server.log).not.toContain('did not shut down cleanly')
    expect(server.log).toMatch(/WARN.*the end of the write-ahead log is not in the target/)
    await expect.poll(() => backupProcesses(file), patience).toEqual([])

    await start()
    await server.psql("insert into public.notes (body) values ('later')")
    expect(await archives(server)).toBe(true)
    await expect.poll(() => metric(server, 'late'), patience).toBe(0)
    const restored = path.join(folder, 'restored')
    const copy = { ...server.instance, dataDir: restored }
    const { status, output } = await basalt(copy, ['restore'], server.environment)
    expect(output).not.toContain('had not reached the backups')
    expect(status).toBe(0)
    const again = await Server.start({ ...copy, env: server.environment })
    expect(await again.psql('select string_agg(body, $$ $$ order by body) from notes')).toBe(
      'later one three two',
    )
    const object = await service(again.access).storage.from('kept').download('waits')
    expect(object.data?.size).toBe(100_000)
    await again.stop()
  })

  test('that refuses the log ends a backup soon, and says why', async () => {
    const archive = path.join(folder, 'target/database/archive/basalt')
    const names = await readdir(archive, { recursive: true })
    // The folder of the timeline's files, which stays readable.
    const closed = path.join(archive, names.find((name) => /\/[0-9A-F]{16}$/.test(name)) ?? '')
    const { mode } = await stat(closed)
    await chmod(closed, 0o500)
    try {
      await write('waits')
      const begin = performance.now()
      const created = await basalt(server.instance, ['backup', 'create'], server.environment)
      expect(created.output).toContain(
        'the target of backups does not take the write-ahead log: Permission denied',
      )
      expect(created.status).not.toBe(0)
      expect(performance.now() - begin).toBeLessThan(60_000)
      await expect.poll(() => problems(server), patience).toContain('backup_late')
    } finally {
      await chmod(closed, mode & 0o777)
    }
    await expect.poll(() => metric(server, 'late'), patience).toBe(0)
  })
})

/** Returns what the server says is wrong. */
async function problems({ adminUrl }: Server) {
  const response = await fetch(`${adminUrl}/health/problems`)
  return response.text()
}
