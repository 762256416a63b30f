import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { Server } from '../support/server.mjs'

/** The requests of a service that such a server works on at the same time. */
const places = 64
/** Slow calls that come at once: more than that. */
const crowd = 150
const account = { email: 'someone@example.org', password: 'correct horse battery staple' }

describe.skipIf(inject('own') === null)('a server for a small machine', () => {
  let server: Server

  beforeAll(async () => {
    const env = { BASALT_MEMORY: 'small', GOTRUE_MAILER_AUTOCONFIRM: 'true' }
    server = await Server.start({ only: ['rest', 'auth', 'storage'], env })
    await server.psql(
      `create function public.nap() returns int language sql as 'select 1 from pg_sleep(0.3)'`,
    )
    while ((await nap()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await post('/auth/v1/signup')).status).toBe(200)
  })

  afterAll(() => server.stop())

  const nap = () =>
    fetch(`${server.access.url}/rest/v1/rpc/nap`, { headers: { apikey: server.access.anonKey } })

  const post = (path: string) =>
    fetch(`${server.access.url}${path}`, {
      method: 'POST',
      headers: { apikey: server.access.anonKey, 'content-type': 'application/json' },
      body: JSON.stringify(account),
    })

  const signIn = () => post('/auth/v1/token?grant_type=password')

  test('has a Postgres that takes little memory', async () => {
    const names = ['shared_buffers', 'max_connections', 'work_mem', 'autovacuum_max_workers']
    const shown = await Promise.all(names.map((name) => server.psql(`show ${name}`)))
    expect(shown.map((text) => text.trim())).toEqual(['64MB', '80', '2MB', '1'])
  })

  test('refuses what is too much, and others still sign in', async () => {
    const naps = Array.from({ length: crowd }, nap)
    const signedIn = await Promise.all([signIn(), signIn(), signIn()])
    expect(signedIn.map(({ status }) => status)).toEqual([200, 200, 200])
    const responses = await Promise.all(naps)
    const refused = responses.filter(({ status }) => status !== 200)
    expect(refused.length).toBeGreaterThanOrEqual(crowd - 2 * places)
    expect(refused.length).toBeLessThanOrEqual(crowd - places)
    for (const response of refused) {
      expect(response.status).toBe(503)
      expect(response.headers.get('retry-after')).toBe('1')
      expect(((await response.json()) as { message: string }).message).toContain(
        'too many requests',
      )
    }
  })

  test('serves everything again afterwards', async () => {
    const responses = await Promise.all([...Array.from({ length: 20 }, nap), signIn()])
    for (const { status } of responses) expect(status).toBe(200)
  })
})

describe.skipIf(inject('own') === null)('a data folder', () => {
  test('is used with another memory from the next start on', async () => {
    const start = (memory: string, dataDir?: string) =>
      Server.start({
        only: ['rest'],
        env: { BASALT_MEMORY: memory },
        ...(dataDir === undefined ? {} : { dataDir }),
      })
    const first = await start('normal')
    expect((await first.psql('show shared_buffers')).trim()).toBe('128MB')
    await first.stop({ keepData: true })
    const second = await start('small', first.dataDir)
    expect((await second.psql('show shared_buffers')).trim()).toBe('64MB')
    await second.stop()
  })
})
