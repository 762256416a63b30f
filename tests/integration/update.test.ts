/** `basalt update`: a signed release takes the place of the program and of the running server, and goes back. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chmod, copyFile, mkdir, readFile, stat } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { built, Installation } from '../support/installation.ts'
import { Load } from '../support/load.ts'
import { end, forget, track } from '../support/programs.mjs'
import { Publisher, withVersion } from '../support/release.mjs'

const run = promisify(execFile)
/** A version that its program says, and which then does not serve where the folder of a project is named. */
const broken = (good: string) => `#!/bin/sh
case "$*" in
  --version) echo basalt 0.3.0 ;;
  *basalt-trial-*) exec ${good} "$@" ;;
  *) exit 1 ;;
esac
`

describe.skipIf(inject('own') === null)('an update', { timeout: 120_000 }, () => {
  const publisher = new Publisher()
  let installation: Installation
  let program: string
  let env: NodeJS.ProcessEnv
  let project: string
  let releases: string
  let url: string
  let own: string
  let server: ReturnType<typeof spawn>

  const update = (...words: string[]) => installation.update(...words)
  const refusal = (...words: string[]) => installation.refusal(...words)
  const version = () => installation.version()
  const served = async () => {
    const announced = await readFile(path.join(project, '.basalt/server.json'), 'utf8')
    return JSON.parse(announced) as { pid: number; version: string; api_url: string }
  }
  const release = (name: string) => path.join(releases, name)

  beforeAll(async () => {
    // Ports that the project fixes are the new program's, too.
    const [api, database] = [await freePort(), await freePort()]
    const config = `[api]\nport = ${String(api)}\n[db]\nport = ${String(database)}\n`
    installation = await Installation.create(publisher.key, config)
    ;({ program, project, env } = installation)
    releases = path.join(installation.folder, 'releases')
    own = (await version()).replace('basalt ', '')
    const bytes = await readFile(built)
    await publisher.release(release('next'), '0.2.0', withVersion(bytes, own, '0.2.0'))
    await publisher.release(release('broken'), '0.3.0', broken(built))
    const dead = '#!/bin/sh\n[ "$*" = --version ] && echo basalt 0.4.0\n'
    await publisher.release(release('dead'), '0.4.0', dead)
    const words = ['serve', '--project', project, '--only', 'rest']
    server = spawn(program, words, { env, stdio: 'ignore' })
    track(server, () => end(server, 'SIGTERM', 30_000))
    await vi.waitFor(served, { timeout: 60_000, interval: 100 })
    url = (await served()).api_url
  })

  afterAll(async () => {
    await run(program, ['stop', '--project', project]).catch(() => undefined)
    forget(server)
    await installation.remove()
  })

  test('without a key nothing is installed', async () => {
    const flags = ['update', '--project', project, '--from', release('next')]
    const refused = run(program, flags, { env })
    await expect(refused).rejects.toThrow('publisher')
  })

  test('it says whether there is a newer release, and changes nothing then', async () => {
    expect(await update('--check', '--from', release('next'))).toContain('0.2.0 can be installed')
    expect(await version()).toBe(`basalt ${own}`)
  })

  test('what another key has signed is refused', async () => {
    const other = new Publisher().key
    const refused = await refusal('--from', release('next'), '--key', other)
    expect(refused).toContain('not signed')
  })

  test('a changed manifest and a changed archive are refused', async () => {
    const changed = release('changed')
    const archive = await publisher.release(changed, '0.2.0', 'anything')
    await appendFile(archive, 'more')
    expect(await refusal('--from', changed)).toContain('digest')
    await appendFile(path.join(changed, 'release.json'), ' ')
    expect(await refusal('--from', changed)).toContain('not signed')
    expect(await version()).toBe(`basalt ${own}`)
  })

  test('a program that does not serve is not installed', async () => {
    expect(await refusal('--from', release('dead'))).toContain('does not serve')
    expect(await version()).toBe(`basalt ${own}`)
    expect((await served()).version).toBe(own)
  })

  test('an update killed at any moment leaves a program that runs', async () => {
    const isReplaced = async () => {
      await stat(`${program}.old`)
    }
    for (const moment of [() => pause(150), () => pause(600), isReplaced]) {
      const flags = ['--project', project, '--from', release('next'), '--key', publisher.key]
      const child = spawn(program, ['update', ...flags], { env, stdio: 'ignore' })
      const ended = once(child, 'exit')
      await vi.waitFor(moment, { timeout: 60_000, interval: 5 })
      child.kill('SIGKILL')
      await ended
      expect(await version()).toBe(`basalt ${moment === isReplaced ? '0.2.0' : own}`)
    }
    // It was killed before or after it had told the server to switch.
    await vi.waitFor(async () => fetch(`${url}/health`), { timeout: 30_000 })
    await update('--back', '--watch', '2')
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('the server switches and goes back under load, and no request fails', async () => {
    const load = new Load(`${url}/health/live`)
    const { pid } = await served()
    await update('--from', release('next'), '--watch', '2')
    expect(await served()).toMatchObject({ pid, version: '0.2.0', api_url: url })
    expect(await version()).toBe('basalt 0.2.0')

    await update('--back', '--watch', '2')
    expect(await served()).toMatchObject({ pid, version: own, api_url: url })
    const { done, failures } = await load.stop()
    expect(failures).toEqual([])
    expect(done).toBeGreaterThan(100)
  })

  test('a release that does not serve this project is undone by itself', async () => {
    const refused = await refusal('--from', release('broken'), '--watch', '2')
    expect(refused).toContain('was undone')
    expect(await version()).toBe(`basalt ${own}`)
    const now = await served()
    expect(now.version).toBe(own)
    expect((await fetch(`${now.api_url}/health`)).status).toBe(200)
    expect(await readFile(`${program}.failed`, 'utf8')).toContain('0.3.0')
    expect(await refusal('--back')).toContain('no program to go back to')
  })

  test('a release that stops being healthy while it is watched is undone by itself', async () => {
    const { pid } = await served()
    const updating = refusal('--from', release('next'), '--watch', '30')
    await vi.waitFor(
      async () => {
        expect(await served()).toMatchObject({ pid, version: '0.2.0' })
        expect((await fetch(`${url}/health`)).status).toBe(200)
      },
      { timeout: 60_000, interval: 100 },
    )
    // It has been seen to be healthy, and hangs then. It does not end by itself: it is killed, and its Postgres with it.
    await pause(1500)
    process.kill(pid, 'SIGSTOP')
    const refused = await updating
    expect(refused).toContain('was undone')
    expect(refused).toContain('it was healthy and is not any more')
    expect(await version()).toBe(`basalt ${own}`)
    expect(await served()).toMatchObject({ version: own, api_url: url })
    expect((await fetch(`${url}/health`)).status).toBe(200)
  })

  test('a program of npm is left to npm', async () => {
    const packaged = path.join(installation.folder, 'node_modules/basalt')
    await mkdir(path.dirname(packaged))
    await copyFile(built, packaged)
    await chmod(packaged, 0o755)
    await expect(run(packaged, ['update', '--check'])).rejects.toThrow('npm install')
    expect((await stat(packaged)).size).toBe((await stat(built)).size)
  })
})
