/** What a restore brings back beside rows and objects: secrets of the vault, deployed functions and their secrets. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { Project } from '../support/backup-project.ts'
import { archives, pgbackrest } from '../support/backup.mjs'
import { Server } from '../support/server.mjs'
import { Platform } from './platform/support.ts'

const program = inject('own') === null ? null : pgbackrest()

describe.skipIf(program === null)('a restored project', { timeout: 120_000 }, () => {
  let project: Project
  let copy: Platform

  beforeAll(async () => {
    project = await Project.prepare(program)
    await project.start()
    await project.has(1)
    const { server } = project
    const platform = await Platform.of(server)
    await server.psql("select vault.create_secret('kept by the vault', 'word')")
    const source = "Deno.serve(() => new Response(`word: ${Deno.env.get('WORD') ?? 'none'}`))"
    expect((await platform.deploy('word', source)).status).toBe(201)
    const json = [{ name: 'WORD', value: 'kept for functions' }]
    expect((await platform.project('POST', '/secrets', { json })).status).toBe(201)
    expect(await archives(server)).toBe(true)
    await server.stop({ keepData: true })

    const flags = ['--target', project.target, '--passphrase-file', project.file]
    const nothing = { BASALT_BACKUP_TARGET: '', BASALT_BACKUP_PASSPHRASE_FILE: '' }
    const { dataDir, output, status } = await project.restore('restored', flags, nothing)
    expect({ output, status }).toMatchObject({ status: 0 })
    const elsewhere = path.join(project.folder, 'elsewhere')
    await mkdir(elsewhere)
    await writeFile(path.join(elsewhere, 'config.toml'), '')
    copy = await Platform.of(await Server.start({ project: elsewhere, dataDir }))
  })

  afterAll(async () => {
    await copy.server.stop()
    await project.end()
  })

  test('opens the secrets of the vault', async () => {
    const sql = "select decrypted_secret from vault.decrypted_secrets where name = 'word'"
    expect(await copy.server.psql(sql)).toBe('kept by the vault')
  })

  test('serves the functions that were deployed, which have their secrets', async () => {
    expect(await copy.listed('word')).toMatchObject({ slug: 'word', version: 1 })
    const word = () => copy.call('word')
    await expect.poll(word).toEqual({ status: 200, text: 'word: kept for functions' })
  })
})
