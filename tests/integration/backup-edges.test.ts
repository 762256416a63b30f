/** Restores where the log of the target ends or has a gap, and servers that must not meet the same target. */
import { existsSync } from 'node:fs'
import { readdir, readFile, rename } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { tree } from '../../bench/lib/processes.mjs'
import { bodies, note, patience, Project, tables } from '../support/backup-project.ts'
import { archives, pgbackrest } from '../support/backup.mjs'
import { psqlAsSuperuser, Server } from '../support/server.mjs'

/** A secret of the server. */
const MARK = 'nobody else may see this'

const environment = (pid = 0) => readFile(`/proc/${String(pid)}/environ`, 'utf8').catch(() => '')

const program = inject('own') === null ? null : pgbackrest()

describe.skipIf(program === null)('a target of backups', { timeout: 120_000 }, () => {
  let project: Project

  /** Begins a new file of the log, and returns the name of the one before it. */
  const nextFile = () =>
    psqlAsSuperuser(project.server.instance, 'select pg_walfile_name(pg_switch_wal())')
  const now = () => project.server.psql('select clock_timestamp()')
  const archived = async () =>
    (await readdir(path.join(project.target, 'database/archive'), { recursive: true })).map(
      (file) => path.join(project.target, 'database/archive', file),
    )
  const archivedFile = async (name: string) =>
    (await archived()).find((file) => path.basename(file).startsWith(name))
  const records = async () => (await readdir(path.join(project.target, 'timelines'))).sort()

  /** Returns the notes of the data folder `dataDir`. */
  async function notesIn(dataDir: string) {
    const env = { ...project.server.environment }
    const copy = await Server.start({ project: project.folder, dataDir, env, keepsLog: true })
    const found = await bodies(copy)
    await copy.stop()
    return found
  }

  beforeAll(async () => {
    project = await Project.prepare(program)
    await project.start(undefined, { BASALT_BACKUP_S3_SECRET_ACCESS_KEY: MARK })
    await project.server.psql(tables)
    await project.has(1)
  })

  afterAll(() => project.end())

  test('is opened by what no process of Postgres or pgBackRest has in its environment', async () => {
    const [own, ...others] = tree(project.server.process.pid ?? 0)
    expect(await environment(own)).toContain(MARK)
    expect(others.length).toBeGreaterThan(5)
    const found = await Promise.all(others.map(environment))
    expect(found.filter((text) => text.includes(MARK))).toEqual([])
    expect(found.some((text) => text.includes('PATH='))).toBe(true)
  })

  test('is not read beyond a moment, also if it gets more of the log meanwhile', async () => {
    await note(project.server, 'before')
    expect(await archives(project.server)).toBe(true)
    const moment = await now()
    const restoring = new AbortController()
    const writing = (async () => {
      // What a mistake looks like to those who hurry.
      for (let number = 0; !restoring.signal.aborted; number += 1) {
        await note(project.server, `after ${String(number)}`)
        await nextFile()
        await pause(100)
      }
    })()
    const restored = await project.restore('moment', ['--to', moment])
    restoring.abort()
    await writing
    expect(restored.output).toContain('Restored to')
    expect(restored.status).toBe(0)
    expect(await notesIn(restored.dataDir)).toEqual(['before'])
    await project.server.psql('truncate public.notes')
  })

  test('does not take the place of a database that is served', async () => {
    const before = await records()
    const begun = performance.now()
    const { output, status } = await project.run('restore', '--in-place')
    expect(output).toMatch(/in use by process \d+/)
    expect(status).not.toBe(0)
    expect(performance.now() - begun).toBeLessThan(5000)
    expect(await records()).toEqual(before)
    expect(existsSync(path.join(project.server.dataDir, 'backup-due'))).toBe(false)
  })

  test('is not taken over by a server whose data folder is another one', async () => {
    await note(project.server, 'of the project')
    const dataDir = path.join(project.folder, 'new machine')
    const env = { ...project.server.environment }
    await expect(Server.start({ project: project.folder, dataDir, env })).rejects.toThrow(
      /the target has the backups of a project.*`basalt restore`/s,
    )
    expect(await archives(project.server)).toBe(true)
    const restored = await project.restore('new machine')
    expect(restored.output).toContain('Restored to')
    expect(await notesIn(restored.dataDir)).toEqual(['of the project'])
    await project.server.psql('truncate public.notes')
  })

  test('that lacks a file of the log says so, and brings back what precedes it', async () => {
    await note(project.server, 'first')
    await nextFile()
    await note(project.server, 'second')
    const lost = await nextFile()
    await note(project.server, 'third')
    const moment = await now()
    const last = await nextFile()
    await expect.poll(() => archivedFile(last), patience).toBeDefined()
    const file = (await archivedFile(lost)) ?? ''
    await rename(file, `${file}.lost`)

    const refused = await project.restore('of a moment', ['--to', moment])
    expect(refused.output).toContain(`the target lacks the file ${lost} of the write-ahead log`)
    expect(refused.status).not.toBe(0)
    const all = await project.restore('of all')
    expect(all.output).toMatch(new RegExp(`lacks a file of the write-ahead log.*${lost}`))
    expect(await notesIn(all.dataDir)).toEqual(['first'])
    await rename(`${file}.lost`, file)
    const whole = await project.restore('whole', ['--to', moment])
    expect(await notesIn(whole.dataDir)).toEqual(['first', 'second', 'third'])
  })
})
