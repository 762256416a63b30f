// The stock Supabase CLI lists the backups of a server, and brings the project back as it was at a moment.

import { mkdir, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { archives, backupFolder, backupSettings, pgbackrest } from '../support/backup.mjs'
import { Server } from '../support/server.mjs'
import { basaltOutput, link, supabase } from '../support/supabase-cli.mjs'

const program = pgbackrest()
const patience = { timeout: 45_000, interval: 250 }

describe.skipIf(program === null)('the CLI', { timeout: 120_000 }, () => {
  let folder: string
  let project: string
  let server: Server
  let token: string
  let ref: string

  const cli = (...words: string[]) => supabase({ folder: project, token }, ...words)
  /** Asks the platform interface itself; the CLI has no command for these. */
  const ask = (method: string, place: string, body: object | null = null) =>
    fetch(`${server.access.url}/v1/projects/${ref}/database/backups${place}`, {
      method,
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: body && JSON.stringify(body),
    })
  /** Returns the rows; an error while the server does not serve. */
  const bodies = async () =>
    server.psql('select body from public.notes order by body').catch((error: unknown) => error)

  beforeAll(async () => {
    folder = await backupFolder()
    project = path.join(folder, 'project')
    await mkdir(path.join(project, 'supabase'), { recursive: true })
    await writeFile(path.join(project, 'supabase/config.toml'), 'project_id = "backups"\n')
    const settings = backupSettings(path.join(folder, 'target'), program ?? '', 5)
    const env = { ...settings, BASALT_BACKUP_VERIFY_DAYS: '0', BASALT_DATABASE_PORT: '0' }
    // The restored server is at the same address.
    const port = await freePort()
    server = await Server.start({ project, dataDir: path.join(folder, 'data'), port, env })
    await server.psql('create table public.notes (body text not null)')
    ;({ ref, token } = await link(server, project))
  })

  afterAll(async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  })

  test('lists the backups', async () => {
    const list = () => basaltOutput(server, 'backup', 'list')
    await expect.poll(list, patience).toContain(' ended: ')
    const ended = /ended: (\S+) (\S+)\+00/.exec(await list()) ?? []
    const shown = await cli('backups', 'list', '--remote')
    expect(shown).toContain('COMPLETED')
    expect(shown).toContain(`${ended[1] ?? ''} ${ended[2] ?? ''}`)
  })

  test('brings the project back to a moment, in place', async () => {
    await server.psql("insert into public.notes (body) values ('before')")
    // The moment is in whole seconds.
    await pause(1100)
    const moment = Math.floor(Date.now() / 1000)
    await pause(1100)
    await server.psql("insert into public.notes (body) values ('after')")
    expect(await archives(server)).toBe(true)
    await cli('backups', 'restore', '--remote', '--timestamp', String(moment), '--yes')
    await expect.poll(bodies, patience).toBe('before')
    expect(server.process.exitCode).toBeNull()
    // The token is from before that moment.
    const list = () => cli('backups', 'list', '--remote').catch((error: unknown) => String(error))
    await expect.poll(list, patience).toMatch(/COMPLETED[^]*COMPLETED/)
  })

  test('goes back to a restore point', async () => {
    expect((await ask('POST', '/restore-point', { name: 'release' })).status).toBe(201)
    const point: unknown = await (await ask('GET', '/restore-point')).json()
    expect(point).toMatchObject({ name: 'release', status: 'AVAILABLE' })
    await server.psql("insert into public.notes (body) values ('of the release')")
    expect(await archives(server)).toBe(true)
    expect((await ask('POST', '/undo', { name: 'another' })).status).toBe(404)
    expect((await ask('POST', '/undo', { name: 'release' })).status).toBe(201)
    await expect.poll(bodies, patience).toBe('before')
  })
})
