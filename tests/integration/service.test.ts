/** A project's server as a service, on a machine whose systemctl is the tests' own. */
import { execFile, spawnSync } from 'node:child_process'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { machineWithSystemd } from '../support/systemctl.mjs'

const run = promisify(execFile)
const binary = path.resolve(
  process.env.BASALT_BINARY ?? path.join(import.meta.dirname, '../../target/debug/basalt'),
)
/** Only root may change services. */
const isRoot = process.getuid?.() === 0

describe.skipIf(inject('own') === null)('a service', () => {
  let folder: string
  let project: string
  let env: NodeJS.ProcessEnv

  const service = async (...words: string[]) => {
    const flags = ['--project', project]
    const { stdout } = await run(binary, ['service', ...words, ...flags], { env })
    return stdout
  }
  const root = () => ['--root', path.join(folder, 'machine')]
  const unit = () => path.join(folder, 'machine/etc/systemd/system/shop.service')
  const refusal = (...words: string[]) =>
    service(...words).then(
      () => 'no error',
      (error: unknown) => (error as { stderr: string }).stderr,
    )

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-service-'))
    project = path.join(folder, 'shop')
    await mkdir(project)
    await writeFile(path.join(project, 'config.toml'), '')
    const machine = await machineWithSystemd(path.join(folder, 'machine'))
    const ports = { BASALT_PORT: '0', BASALT_ADMIN_PORT: '0', BASALT_INBOX_PORT: '0' }
    env = {
      ...process.env,
      ...machine,
      ...ports,
      BASALT_ANY_PORT: 'true',
      BASALT_LOG_FORMAT: 'text',
    }
  })

  afterAll(async () => {
    await service('uninstall', '--name', 'shop', '--yes', ...root()).catch(() => undefined)
    await rm(folder, { recursive: true, force: true })
  })

  test('the unit that is printed is one that systemd understands', async () => {
    const text = await service('install', '--print', '--name', 'shop')
    expect(text).toContain('User=basalt\n')
    expect(text).toContain(`ReadWritePaths=${path.join(project, '.basalt')}\n`)
    const file = path.join(folder, 'shop.service')
    await writeFile(file, text.replaceAll('User=basalt', 'User=root'))
    const verified = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
    })
    if (verified.error === undefined) expect(verified.stderr + verified.stdout).toBe('')
  })

  test('the domains that are named are in the unit', async () => {
    const domains = ['--domain', 'shop.example.org', '--domain', 'api.example.org']
    const text = await service('install', '--print', '--name', 'shop', ...domains)
    expect(text).toMatch(
      /^ExecStart=\S+ serve .* --domain shop\.example\.org --domain api\.example\.org$/m,
    )
    const without = await service('install', '--print', '--name', 'shop')
    expect(without).not.toContain('--domain')
    expect(await refusal('install', '--print', '--domain', 'no domain')).toContain('--domain')
  })

  test('without systemd nothing is installed', async () => {
    const refused = await refusal('install', '--yes', '--root', path.join(folder, 'nothing'))
    expect(refused).toContain('systemd does not run here')
  })

  test.runIf(isRoot)(
    'nobody is asked without a terminal, and nothing is written then',
    async () => {
      const refused = await refusal('install', '--name', 'shop', '--user', 'root', ...root())
      expect(refused).toContain('--yes')
      await expect(access(unit())).rejects.toThrow()
    },
  )

  test.runIf(isRoot)('a data folder of another user is not taken', async () => {
    const data = path.join(folder, 'of-root')
    await mkdir(data)
    const refused = await refusal(
      'install',
      '--yes',
      '--user',
      'nobody',
      '--data-dir',
      data,
      ...root(),
    )
    expect(refused).toContain('belongs to another user')
  })

  test.runIf(isRoot)('a server that ends at each start is not waited for', async () => {
    const [name, taken] = ['ending', createServer()]
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    const restarts = path.join(folder, `machine/${name}.restarts`)
    await writeFile(restarts, '3')
    env.BASALT_ANY_PORT = 'false'
    env.BASALT_PORT = String((taken.address() as AddressInfo).port)
    const named = ['--name', name, ...root()]
    const refused = await refusal('install', '--user', 'root', '--yes', ...named)
    expect(refused).toMatch(/ends as soon as it is started.*journalctl -u ending/)
    Object.assign(env, { BASALT_ANY_PORT: 'true', BASALT_PORT: '0' })
    taken.close()
    await rm(restarts)
    await service('uninstall', '--yes', ...named)
  })

  test.runIf(isRoot)(
    'it serves once it is installed, and keeps its data when it is removed',
    async () => {
      const named = ['--name', 'shop', ...root()]
      const installed = await service('install', '--user', 'root', '--yes', ...named)
      expect(installed).toContain('journalctl -fu shop')
      const url = /serves (http:\S+)/.exec(installed)?.[1] ?? ''
      expect((await fetch(`${url}/health`)).status).toBe(200)
      expect(await service('status', ...named)).toMatch(/active, and starts .* healthy/)

      const again = await service('install', '--user', 'root', '--yes', ...named)
      expect(again).toContain('The service shop serves')

      await service('uninstall', '--yes', ...named)
      await expect(access(unit())).rejects.toThrow()
      await expect(access(path.join(project, '.basalt/postgres'))).resolves.toBeUndefined()
      expect(await refusal('status', ...named)).toContain('no server')
      const calls = await readFile(path.join(folder, 'machine/calls'), 'utf8')
      expect(calls).toContain('daemon-reload\nenable shop\n')
      expect(await refusal('uninstall', '--yes', ...named)).toContain('there is no')
    },
  )
})
