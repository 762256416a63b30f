/** What skills/basalt/SKILL.md tells agents to do: each of its lines is run, in a new project. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { end, track } from '../support/programs.mjs'
import { defaultBinary } from '../support/server.mjs'

const run = promisify(execFile)
const skill = path.resolve(import.meta.dirname, '../../skills/basalt/SKILL.md')

/** How long a server takes to start, at most. */
const patience = { timeout: 60_000, interval: 200 }

describe.skipIf(inject('own') === null)('the skill', { timeout: 120_000 }, () => {
  let folder: string
  let project: string
  let env: NodeJS.ProcessEnv
  let text: string
  let served: ChildProcess
  /** The commands of the text that were run. */
  const tried = new Set<string>()

  /** Runs a command that stands in the text; `values` takes the place of its capital words. */
  async function line(command: string, values: Record<string, string> = {}) {
    tried.add(command)
    const words = Object.entries(values).reduce((all, [name, value]) => {
      return all.replaceAll(name, value)
    }, `npx basalt ${command}`)
    // Nothing is typed: a migration can also come from there.
    return (await run('sh', ['-c', `${words} </dev/null`], { cwd: project, env })).stdout
  }

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-skill-'))
    project = path.join(folder, 'project')
    await mkdir(project)
    // In place of the package.
    const npx = path.join(folder, 'npx')
    await writeFile(npx, `#!/bin/sh\nshift\nexec '${path.resolve(defaultBinary())}' "$@"\n`)
    await chmod(npx, 0o755)
    const ports = {
      BASALT_PORT: String(await freePort()),
      BASALT_DATABASE_PORT: String(await freePort()),
      BASALT_ADMIN_PORT: '0',
      BASALT_INBOX_PORT: '0',
    }
    env = { ...process.env, ...ports, PATH: `${folder}:${String(process.env.PATH)}` }
    text = await readFile(skill, 'utf8')
  })

  afterAll(async () => {
    await end(served, 'SIGTERM', 30_000)
    await rm(folder, { recursive: true, force: true })
  })

  test('starts a project', async () => {
    await line('init')
    tried.add('serve')
    served = spawn('npx', ['basalt', 'serve'], { cwd: project, env, stdio: 'ignore' })
    track(served, () => end(served, 'SIGTERM', 30_000))
    await expect
      .poll(() => existsSync(path.join(project, '.basalt/server.json')), patience)
      .toBe(true)
    expect(await line('status -o env')).toMatch(/^API_URL=.*\n(.*\n)*DB_URL=/m)
    await line('doctor')
  })

  test('changes the database', async () => {
    await line('migration new NAME', { NAME: 'memos' })
    const migrations = path.join(project, 'supabase/migrations')
    const [file = ''] = (await readdir(migrations)).filter((name) => name.endsWith('_memos.sql'))
    const [, sql = ''] = /```sql\n([^]*?)```/.exec(text) ?? []
    // A new project has notes already.
    await writeFile(path.join(migrations, file), sql.replaceAll('public.notes', 'public.memos'))
    await line('migrate')
    // Of the table that the text makes there is nothing to say.
    expect(await line('advisors')).not.toMatch(/ERROR|memos/)
    await mkdir(path.join(project, 'src'), { recursive: true })
    await line('gen types typescript > src/database.types.ts')
    expect(await readFile(path.join(project, 'src/database.types.ts'), 'utf8')).toContain(
      'memos: {',
    )
    const count = await line("psql -c 'select …'", { 'select …': 'select count(*) from memos' })
    expect(count).toContain('(1 row)')
  })

  test('makes a function', async () => {
    await line('functions new NAME', { NAME: 'greeting' })
    const status = await line('status -o env')
    const value = (name: string) => new RegExp(`^${name}="?([^"\\n]+)`, 'm').exec(status)?.[1] ?? ''
    const call = async () => {
      const headers = { Authorization: `Bearer ${value('ANON_KEY')}` }
      return (await fetch(`${value('API_URL')}/functions/v1/greeting`, { method: 'POST', headers }))
        .status
    }
    tried.add('functions serve')
    const serving = spawn('npx', ['basalt', 'functions', 'serve'], {
      cwd: project,
      env,
      stdio: 'ignore',
    })
    track(serving, () => end(serving, 'SIGINT', 10_000))
    await expect.poll(call, patience).toBe(200)
    await end(serving, 'SIGINT', 10_000)
  })

  test('manages a server, and ends one', async () => {
    expect(await line('token create')).toMatch(/^sbp_[0-9a-f]{40}$/m)
    expect(await line('status --profile')).toContain('project_host:')
    // It asks first.
    await expect(line('db reset')).rejects.toThrow('--yes')
    await line('stop')
    await expect.poll(() => served.exitCode, patience).toBe(0)
  })

  test('has no other command', () => {
    const commands = Array.from(text.matchAll(/npx basalt ([^`#\n]+)/g), ([, words = '']) =>
      words.trim(),
    )
    expect(commands.filter((words) => !tried.has(words))).toEqual([])
    expect(tried.size).toBe(new Set(commands).size)
  })
})
