/** Operations of backups on a server that makes some: what they answer and record, and what is there afterwards. */
import { setTimeout as pause } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../../bench/lib/ports.mjs'
import { bodies, note, patience, Project, tables } from '../../support/backup-project.ts'
import { archives, pgbackrest } from '../../support/backup.mjs'
import { deviations, operations } from './document.ts'
import { Platform } from './support.ts'

const program = inject('own') === null ? null : pgbackrest()

/** Where the operations are. */
const PLACE = '/v1/projects/{ref}/database/backups'

describe.skipIf(program === null)('operations of backups', { timeout: 120_000 }, () => {
  let project: Project
  let platform: Platform
  const asked = new Set<string>()

  /** Asks for an operation, checks its response, and returns the body. */
  async function ask<T = unknown>(method: string, place: string, json?: object): Promise<T> {
    const operation = `${method} ${PLACE}${place.replace(/\?.*/, '')}`
    const content = json ? { json } : {}
    const answer = await platform.project<T>(
      method.toUpperCase(),
      `/database/backups${place}`,
      content,
    )
    asked.add(operation)
    const { status, body } = answer
    expect({ operation, status, body }).toMatchObject({
      operation,
      status: operations[operation]?.status,
    })
    expect({ operation, differing: deviations(operation, body) }).toEqual({
      operation,
      differing: [],
    })
    return body
  }

  /** Writes a note that is gone once the project has been brought back, and brings it back. */
  async function goBack(place: string, json: object) {
    const { server } = project
    const before = await bodies(server)
    await note(server, 'undone')
    expect(await archives(server)).toBe(true)
    await ask('post', place, json)
    // There is no database for a while.
    const found = () => bodies(server).catch((error: unknown) => error)
    await expect.poll(found, patience).toEqual(before)
    const status = async () => (await platform.project('GET', '')).status
    await expect.poll(() => status().catch(() => 0), patience).toBe(200)
  }

  /** Waits for the line of the log that says what an operator did: the database forgets it when it goes back. */
  const isRecorded = (action: string, detail: object) =>
    expect
      .poll(() => stripVTControlCharacters(project.server.log))
      .toContain(` action="${action}" detail=${JSON.stringify(detail)}`)

  beforeAll(async () => {
    project = await Project.prepare(program)
    // The restored server is at the same address.
    await project.start(undefined, {}, await freePort())
    await project.server.psql(tables)
    await project.has(1)
    platform = await Platform.of(project.server)
    await note(project.server, 'kept')
    // The end of a backup is in whole seconds.
    await pause(1100)
    expect((await project.run('backup', 'create')).status).toBe(0)
  })

  afterAll(() => project.end())

  test('list what there is', async () => {
    const { backups } = await ask<{ backups: unknown[] }>('get', '')
    const completed = { status: 'COMPLETED', is_physical_backup: true }
    expect(backups).toMatchObject([completed, completed])
  })

  test('bring the project back to the end of a backup', async () => {
    const { backups } = await ask<{ backups: { id: number }[] }>('get', '')
    const id = backups.at(-1)?.id ?? 0
    await goBack('/restore', { id })
    await isRecorded('backups.restore', { id })
    expect(
      (await platform.project('POST', '/database/backups/restore', { json: { id: 1 } })).status,
    ).toBe(404)
  })

  test('bring the project back to a restore point', async () => {
    const made = await ask('post', '/restore-point', { name: 'release' })
    expect(made).toMatchObject({ name: 'release', status: 'AVAILABLE' })
    expect(await ask('get', '/restore-point')).toEqual(made)
    expect(await ask('get', '/restore-point?name=release')).toEqual(made)
    const recorded = "select detail from basalt_platform.audit_log where action like 'backups.%'"
    expect(await project.server.psql(recorded)).toBe('{"name": "release"}')
    await isRecorded('backups.restore_point', { name: 'release' })
    await goBack('/undo', { name: 'release' })
    await isRecorded('backups.undo', { name: 'release' })
  })

  test('bring the project back to a moment', async () => {
    // The moment is in whole seconds.
    await pause(1100)
    const moment = { recovery_time_target_unix: Math.floor(Date.now() / 1000) }
    await pause(1100)
    await goBack('/restore-pitr', moment)
    await isRecorded('backups.restore', moment)
  })

  test('are all that the document has', () => {
    const all = Object.keys(operations).filter((operation) => operation.includes(PLACE))
    expect([...asked].sort()).toEqual(all.sort())
  })
})
