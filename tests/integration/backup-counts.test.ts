/** A verification that finds other rows in a backup than there were when it was made. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { withContent } from '../support/age.mjs'
import { note, patience, Project, tables } from '../support/backup-project.ts'
import { metric, pgbackrest } from '../support/backup.mjs'

const program = inject('own') === null ? null : pgbackrest()

describe.skipIf(program === null)('a backup that lacks a row', { timeout: 120_000 }, () => {
  let project: Project
  const verified = () => metric(project.server, 'verified_timestamp_seconds')

  beforeAll(async () => {
    project = await Project.prepare(program)
    await project.start()
    await project.has(1)
    await project.server.psql(tables)
    await note(project.server, 'first')
    await note(project.server, 'second')
    expect((await project.run('backup', 'create', '--full')).status).toBe(0)
    await project.server.stop({ keepData: true })

    // As if there had been three.
    const kept = await readFile(path.join(project.server.dataDir, 'backup-key.txt'), 'utf8')
    const [identity = ''] = /AGE-SECRET-KEY-\S+/.exec(kept) ?? []
    const folder = path.join(project.target, 'manifests')
    const file = path.join(folder, (await readdir(folder)).sort().at(-1) ?? '')
    const lost = (text: string) => text.replace(/("[^,]*notes[^,]*":)2/, '$13')
    await writeFile(file, withContent(await readFile(file), identity, lost))
  })

  afterAll(() => project.end())

  test('is reported by the server, which verifies it by itself', async () => {
    await project.start(undefined, { BASALT_BACKUP_VERIFY_DAYS: '1' })
    await expect.poll(verified, patience).toBeGreaterThan(0)
    await expect.poll(() => metric(project.server, 'damaged')).toBe(1)
    const said = /ERROR.*a backup is damaged.*notes\W+has 2 rows, and had 3/
    await expect.poll(() => project.server.log).toMatch(said)
  })

  test('is damaged in the list', async () => {
    const { output } = await project.run('backup', 'list')
    expect(output).toMatch(/^\S+F .* verified: .*notes\W+has 2 rows, and had 3$/m)
  })

  test('is refused by a verification, which names the table', async () => {
    const { output, status } = await project.run('backup', 'verify')
    expect(output).toMatch(/notes\W+has 2 rows, and had 3/)
    expect(output).toMatch(/the backup \S+F is damaged/)
    expect(status).not.toBe(0)
  })
})
