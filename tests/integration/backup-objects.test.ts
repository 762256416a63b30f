/** Objects of backups: copies that are lost, bytes that are lost, and a target that is not there. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants, existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { patience, Project, tables } from '../support/backup-project.ts'
import { basalt, pgbackrest } from '../support/backup.mjs'
import { service } from '../support/notes.ts'
import { psqlAsSuperuser, Server } from '../support/server.mjs'

const program = inject('own') === null ? null : pgbackrest()

const NAMES = ['one', 'two', 'three']

describe.skipIf(program === null)('objects of backups', { timeout: 120_000 }, () => {
  let project: Project

  const bucket = () => service(project.server.access).storage.from('kept')
  const text = async (name: string) => (await bucket().download(name)).data?.text()
  const versionOf = (name: string) =>
    project.server.psql(`select version from storage.objects where name = '${name}'`)
  /** Returns the path of the only file below `folder` whose name has a version. */
  const fileOf = async (folder: string, version: string) => {
    const names = await readdir(folder, { recursive: true, withFileTypes: true })
    const found = names
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name))
      .filter((file) => file.includes(version))
    expect(found).toHaveLength(1)
    return found[0] ?? ''
  }
  const copyOf = async (name: string) =>
    fileOf(path.join(project.target, 'objects'), await versionOf(name))

  beforeAll(async () => {
    project = await Project.prepare(program)
    await project.start()
    await project.server.psql(tables)
    await psqlAsSuperuser(project.server.instance, 'create extension amcheck schema extensions')
    const { storage } = service(project.server.access)
    expect((await storage.createBucket('kept', { public: false })).error).toBeNull()
    await project.has(1)
    for (const name of NAMES) expect((await bucket().upload(name, name)).error).toBeNull()
    expect((await project.run('backup', 'create')).status).toBe(0)
  })

  afterAll(() => project.end())

  test('of a difference are verified, also where the project has amcheck itself', async () => {
    const { output, status } = await project.run('backup', 'verify')
    expect(output).toMatch(/The backup \S+_\S+ is whole: .* with 3 objects/)
    expect(status).toBe(0)
  })

  test('are copied again where a verification finds that copies are lost', async () => {
    const [damaged, missing] = [await copyOf('one'), await copyOf('two')]
    await writeFile(damaged, (await readFile(damaged)).subarray(0, -1))
    await rm(missing)
    const found = await project.run('backup', 'verify')
    expect(found.output).toContain(`${path.relative(project.target, damaged)} is damaged`)
    expect(found.output).toContain(`the object of version ${await versionOf('two')} is missing`)
    expect(found.output).not.toContain(`version ${await versionOf('one')} is missing`)
    expect(found.output).toContain('`basalt backup create`')
    expect(found.status).not.toBe(0)

    expect((await project.run('backup', 'create')).status).toBe(0)
    const again = await project.run('backup', 'verify')
    expect(again.output).toMatch(/is whole: .* with 3 objects/)
    expect(again.status).toBe(0)
  })

  test('are brought back into a bucket that has their rows, but not their bytes', async () => {
    const { dataDir } = project.server
    await rm(await fileOf(path.join(dataDir, 'objects'), await versionOf('three')))
    expect(await text('three')).toBeUndefined()
    const { output, status } = await project.run('restore', '--only', 'bucket', 'kept')
    expect(output).toContain('1 objects are in the bucket kept again')
    expect(status).toBe(0)
    expect(await text('three')).toBe('three')
  })

  test('are brought back but for those whose copies are damaged, which are named', async () => {
    const copy = await copyOf('one')
    const whole = await readFile(copy)
    await writeFile(copy, whole.subarray(0, -1))
    const { dataDir, output, status } = await project.restore('without one')
    await writeFile(copy, whole)
    expect(output).toMatch(/The bytes of 1 objects .* are damaged there/)
    expect(output).toContain(await versionOf('one'))
    expect(status).toBe(0)
    await fileOf(path.join(dataDir, 'objects'), await versionOf('two'))
  })

  test('that a killed restore did not bring back keep its folder from being used', async () => {
    const copy = await copyOf('two')
    const whole = await readFile(copy)
    await rm(copy)
    // Whoever reads it waits.
    execFileSync('mkfifo', [copy])
    const dataDir = path.join(project.folder, 'killed')
    const instance = { ...project.server.instance, dataDir }
    const flags = ['--project', instance.project, '--data-dir', dataDir, 'restore']
    const env = project.server.environment
    const restore = spawn(instance.binary, flags, { env, stdio: 'ignore' })
    const ended = once(restore, 'close')
    const reader = await vi.waitFor(
      () => open(copy, constants.O_WRONLY | constants.O_NONBLOCK),
      patience,
    )
    restore.kill('SIGKILL')
    await ended
    await reader.close()
    await rm(copy)
    await writeFile(copy, whole)

    for (const words of [['serve', '--any-port'], ['restore']]) {
      const { output, status } = await basalt(instance, words, env)
      expect(output).toMatch(/did not come to its end.*remove the folder/s)
      expect(status).not.toBe(0)
    }
    await rm(dataDir, { recursive: true })
    const restored = await project.restore('killed')
    expect(restored.output).not.toContain('The bytes of')
    expect(restored.status).toBe(0)
    const served = await Server.start({ project: project.folder, dataDir, env, keepsLog: true })
    const { data } = await service(served.access).storage.from('kept').download('two')
    expect(await data?.text()).toBe('two')
    await served.stop()
  })

  test('are not looked for in a target that is away, which no command creates', async () => {
    const away = `${project.target}-away`
    await rename(project.target, away)
    try {
      for (const words of [
        ['backup', 'list'],
        ['backup', 'create'],
        ['backup', 'verify'],
        ['restore', '--only', 'bucket', 'kept'],
      ]) {
        const { output, status } = await project.run(...words)
        expect(output).toContain(`the target of backups, ${project.target}, is not there`)
        expect(status).not.toBe(0)
        expect(existsSync(project.target)).toBe(false)
      }
      // As where its disk would be mounted.
      await mkdir(project.target)
      const listed = await project.run('backup', 'list')
      expect(listed.output).toContain('the target of backups is not there, or another one')
      expect(listed.status).not.toBe(0)
      expect(await readdir(project.target)).toEqual([])
      await rmdir(project.target)
    } finally {
      await rename(away, project.target)
    }
    const typo = `${project.target}-typo`
    const { output, status } = await project.restore('from nowhere', ['--target', typo])
    expect(output).toContain(`the target of backups, ${typo}, is not there`)
    expect(status).not.toBe(0)
    expect(existsSync(typo)).toBe(false)
  })

  test('are those of the settings in a restore in place, which takes no others', async () => {
    for (const way of ['--in-place', '--back'])
      for (const flag of ['--target', '--passphrase-file', '--identity']) {
        const { output, status } = await project.run('restore', way, flag, 'somewhere')
        expect(output).toMatch(
          new RegExp(
            `'${way}' cannot be used with '${flag}|'${flag}.* cannot be used with '${way}`,
          ),
        )
        expect(status).not.toBe(0)
      }
  })
})
