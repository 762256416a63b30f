import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform } from './support.ts'

const run = promisify(execFile)

interface Migration {
  version: string
  name?: string
  statements?: string[]
  rollback?: string[]
  created_by?: string
}

describe.skipIf(inject('own') === null)('migrations over the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
  })

  const list = async () => (await platform.project<Migration[]>('GET', '/database/migrations')).body
  const get = async (version: string) =>
    (await platform.project<Migration>('GET', `/database/migrations/${version}`)).body
  const exists = async (table: string) =>
    (await platform.server.psql(`select to_regclass('public.${table}') is not null`)) === 't'

  async function apply(json: object, method = 'POST', headers: Record<string, string> = {}) {
    const answer = await platform.project(method, '/database/migrations', { json, headers })
    expect({ json, status: answer.status, body: answer.body }).toMatchObject({ json, status: 200 })
    return (await list()).at(-1) ?? { version: '' }
  }

  test('are none at first, and none of them is found', async () => {
    expect(await list()).toEqual([])
    expect((await platform.project('GET', '/database/migrations/20260101000000')).status).toBe(404)
    const change = { json: { name: 'x' } }
    expect(
      (await platform.project('PATCH', '/database/migrations/20260101000000', change)).status,
    ).toBe(404)
    for (const wrong of ['abc', "1'", '-1'])
      expect(
        (await platform.project('GET', `/database/migrations/${encodeURIComponent(wrong)}`)).status,
      ).toBe(400)
  })

  test('are applied and recorded', async () => {
    const query = 'create table public.first (id int primary key);\ninsert into first values (1)'
    const { version, name } = await apply({
      query,
      name: 'first_table',
      rollback: 'drop table public.first',
    })
    expect(version).toMatch(/^\d{14}$/)
    expect(name).toBe('first_table')
    expect(await platform.server.psql('select count(*) from first')).toBe('1')
    expect(await get(version)).toMatchObject({
      version,
      name: 'first_table',
      statements: [
        'create table public.first (id int primary key)',
        'insert into first values (1)',
      ],
      rollback: ['drop table public.first'],
      created_by: 'operator',
    })
  })

  test('have versions in the order in which they were applied', async () => {
    const before = await list()
    for (let number = 0; number < 5; number++)
      await apply({
        query: `create table public.t${String(number)} ()`,
        name: `t${String(number)}`,
      })
    const after = (await list()).slice(before.length)
    expect(after.map(({ name }) => name)).toEqual(['t0', 't1', 't2', 't3', 't4'])
    const versions = after.map(({ version }) => version)
    expect([...new Set(versions)].sort()).toEqual(versions)
  })

  test('that fail leave nothing', async () => {
    const before = await list()
    const { status, body } = await platform.project('POST', '/database/migrations', {
      json: { query: 'create table public.half ();\nselect nope;', name: 'half' },
    })
    expect(status).toBe(400)
    expect(body.message).toMatch(/42703/)
    expect(body.message).toMatch(/column "nope" does not exist/)
    expect(body.message).toMatch(/line 2/i)
    expect(await exists('half')).toBe(false)
    expect(await list()).toEqual(before)
  })

  test('are applied once for one Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': crypto.randomUUID() }
    await apply({ query: 'create table public.once ()', name: 'once' }, 'POST', headers)
    const before = await list()
    await apply({ query: 'create table public.once ()', name: 'once' }, 'POST', headers)
    expect(await list()).toEqual(before)
    const atOnce = { 'Idempotency-Key': crypto.randomUUID() }
    const content = {
      json: {
        query: 'create table if not exists public.several (); select pg_sleep(0.5)',
        name: 'several',
      },
      headers: atOnce,
    }
    const answers = await Promise.all(
      [1, 2, 3].map(() => platform.project('POST', '/database/migrations', content)),
    )
    for (const { status } of answers) expect([200, 409]).toContain(status)
    expect(answers.map(({ status }) => status)).toContain(200)
    expect((await list()).filter(({ name }) => name === 'several')).toHaveLength(1)
  })

  test('that were applied in another way are recorded without being run', async () => {
    const { version } = await apply(
      { query: 'create table public.elsewhere ()', name: 'elsewhere' },
      'PUT',
    )
    expect(await exists('elsewhere')).toBe(false)
    expect(await get(version)).toMatchObject({
      name: 'elsewhere',
      statements: ['create table public.elsewhere ()'],
    })
  })

  test('are renamed, and get what undoes them', async () => {
    const { version } = await apply({ query: 'create table public.later ()', name: 'later' })
    const patch = (json: object) =>
      platform.project('PATCH', `/database/migrations/${version}`, { json })
    expect((await patch({ name: 'renamed' })).status).toBe(200)
    expect(await get(version)).toMatchObject({ name: 'renamed' })
    expect((await patch({ rollback: 'drop table public.later' })).status).toBe(200)
    expect(await get(version)).toMatchObject({
      name: 'renamed',
      rollback: ['drop table public.later'],
      statements: ['create table public.later ()'],
    })
  })

  test('are taken back, newest first, all or none', async () => {
    const before = await list()
    const base = await apply({
      query: 'create table public.base (id int primary key)',
      name: 'base',
      rollback: 'drop table public.base',
    })
    await apply({
      query: 'create table public.child (id int references public.base)',
      name: 'child',
      rollback: 'drop table public.child; -- and nothing else',
    })
    const wrong = await apply({ query: 'select 1', name: 'wrong', rollback: 'select nope' })
    const undo = () => platform.project('DELETE', `/database/migrations?gte=${base.version}`)
    expect((await undo()).status).toBe(400)
    expect([await exists('base'), await exists('child')]).toEqual([true, true])
    expect((await list()).length).toBe(before.length + 3)
    await platform.project('PATCH', `/database/migrations/${wrong.version}`, {
      json: { rollback: 'select 1' },
    })
    expect((await undo()).status).toBe(200)
    expect([await exists('base'), await exists('child')]).toEqual([false, false])
    expect(await list()).toEqual(before)
    expect((await platform.project('DELETE', '/database/migrations')).status).toBe(400)
    expect((await platform.project('DELETE', "/database/migrations?gte=1'")).status).toBe(400)
  })

  test('may use rights beyond those of postgres', async () => {
    await apply({
      query: `
        create extension if not exists pgcrypto with schema extensions;
        create function public.tell() returns event_trigger language plpgsql as $$ begin end $$;
        create event trigger tells on ddl_command_end execute function public.tell()`,
      name: 'privileged',
    })
    expect(
      await platform.server.psql("select count(*) from pg_event_trigger where evtname = 'tells'"),
    ).toBe('1')
  })

  test('are the same that the command line sees', async () => {
    const { binary, dataDir, project } = platform.server.instance
    const flags = ['migrate', '--status', '--project', project, '--data-dir', dataDir]
    const { stdout } = await run(binary, flags, { env: platform.server.environment })
    for (const { version } of await list()) expect(stdout).toContain(version)
  })

  test('reach the API: a table that a migration makes can be read at once', async () => {
    await apply({
      query: `create table public.fresh (id int primary key); insert into fresh values (7);
        grant select on public.fresh to anon`,
      name: 'fresh',
    })
    const { anonKey, url } = platform.server.access
    const read = async () => {
      const response = await fetch(`${url}/rest/v1/fresh`, { headers: { apikey: anonKey } })
      return response.json() as Promise<unknown>
    }
    await expect.poll(read).toEqual([{ id: 7 }])
  })
})
