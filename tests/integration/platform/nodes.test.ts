/** The platform interface of two nodes on one database: what is done on one counts on the other. */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { Postgres, temporaryFolder } from '../../support/postgres.mjs'
import { Platform, send } from './support.ts'

/** How long the other node may take, on a busy machine. */
const patience = { timeout: 20_000, interval: 100 }
/** How many migrations come to each node at the same time. */
const MIGRATIONS = 5
/** Values that a secret gets one after the other. */
const CHANGES = ['open', 'shut', 'ajar', 'locked', 'changed']

describe.skipIf(inject('own') === null)('two nodes on one database', { timeout: 60_000 }, () => {
  let cluster: string
  let postgres: Postgres
  let first: Platform
  let second: Platform

  beforeAll(async () => {
    cluster = await temporaryFolder('basalt-nodes-')
    postgres = await Postgres.create(cluster, { settings: { fsync: 'off' } })
    await postgres.start()
    const env = {
      DATABASE_URL: postgres.uri(),
      BASALT_ADOPT_DATABASE: '1',
      JWT_SECRET: 'a secret that both nodes of this test share',
    }
    first = await Platform.start({ env })
    second = await Platform.start({ env })
  })

  afterAll(async () => {
    await first.server.stop()
    await second.server.stop()
    await postgres.stop()
    await rm(cluster, { recursive: true, force: true })
  })

  const list = async () =>
    (await first.project<{ version: string; name: string }[]>('GET', '/database/migrations')).body
  const apply = (node: Platform, json: object, headers: Record<string, string> = {}) =>
    node.project('POST', '/database/migrations', { json, headers })

  test('are one project, and take tokens of each other', async () => {
    expect(second.ref).toBe(first.ref)
    const answer = await send(second.url, 'GET', `/v1/projects/${first.ref}`, {
      token: first.token,
    })
    expect(answer.status).toBe(200)
  })

  test('apply migrations one after the other', async () => {
    const numbers = Array.from({ length: MIGRATIONS }, (_, number) => number)
    const requests = [first, second].flatMap((node, index) =>
      numbers.map((number) => {
        const name = `n${String(index)}_${String(number)}`
        return apply(node, { name, query: `create table public.${name} ()` })
      }),
    )
    const answers = await Promise.all(requests)
    expect(answers.map(({ status, body }) => [status, body])).toEqual(
      answers.map(({ body }) => [200, body]),
    )
    const all = await list()
    expect(all).toHaveLength(2 * MIGRATIONS)
    expect(new Set(all.map(({ version }) => version)).size).toBe(2 * MIGRATIONS)
    const rows = await postgres.sql(
      "select count(*)::int as count from pg_tables where schemaname = 'public' and tablename ~ '^n[01]_'",
    )
    expect(rows).toEqual([{ count: 2 * MIGRATIONS }])
  })

  test('apply a migration once that is sent to both with one key', async () => {
    const before = (await list()).length
    const headers = { 'Idempotency-Key': randomUUID() }
    const migration = { name: 'once', query: 'create table public.once ()' }
    const answers = await Promise.all(
      [first, second].map((node) => apply(node, migration, headers)),
    )
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await list()).toHaveLength(before + 1)
  })

  test('have the functions and secrets of each other', async () => {
    const word = async () => (await second.call('word')).text
    const set = async (value: string) => {
      const secrets = { json: [{ name: 'WORD', value }] }
      expect((await first.project('POST', '/secrets', secrets)).status).toBe(201)
    }
    await set('sesame')
    const source = "Deno.serve(() => new Response(Deno.env.get('WORD')))"
    expect((await first.deploy('word', source)).status).toBe(201)
    await expect.poll(word, patience).toBe('sesame')
    const times: number[] = []
    for (const value of CHANGES) {
      await set(value)
      const begin = performance.now()
      await expect.poll(word, patience).toBe(value)
      times.push(performance.now() - begin)
    }
    const median = times.sort((a, b) => a - b)[Math.floor(CHANGES.length / 2)]
    expect(median).toBeLessThan(2000)
    const changed = "Deno.serve(() => new Response(Deno.env.get('WORD') + ' twice'))"
    expect((await first.deploy('word', changed)).status).toBe(201)
    await expect.poll(word, patience).toBe('changed twice')
  })
})
