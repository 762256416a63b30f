import { createHash } from 'node:crypto'

import { beforeAll, describe, expect, inject, test, vi } from 'vitest'

import { connect } from '../../support/client.ts'
import { Server } from '../../support/server.mjs'
import { Platform } from './support.ts'

/** An API key as the interface describes it. */
interface Key {
  id: string
  api_key: string
  type: 'legacy' | 'publishable' | 'secret'
  name: string
  prefix: string
  hash: string
  description: string | null
  secret_jwt_template: { role: string } | null
}

/** The project's tables. */
interface Schema {
  public: {
    Tables: {
      notes: { Row: { id: number }; Insert: never; Update: never; Relationships: [] }
    }
    Views: Record<string, never>
    Functions: Record<string, never>
  }
}

describe.skipIf(inject('own') === null)('API keys over the platform interface', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
    // Of which only the owner of a secret key sees rows.
    await platform.server.psql(`
      create table public.notes (id int primary key);
      insert into public.notes values (1), (2);
      alter table public.notes enable row level security;
      grant select on public.notes to anon, service_role;
      insert into storage.buckets (id, name) values ('files', 'files')`)
    // The catalog is read again after a notification.
    await vi.waitUntil(async () => (await rows(platform.server.access.serviceKey)) === 2, {
      timeout: 20_000,
    })
  })

  const client = (key: string) => connect<Schema>(platform.url, key)

  /** Returns how many rows the owner of `key` sees, or what the server says. */
  async function rows(key: string) {
    const { data, error, status } = await client(key).from('notes').select()
    return error ? status : data.length
  }

  const list = async (query = '') =>
    (await platform.project<Key[]>('GET', `/api-keys${query}`)).body

  async function create(type: string, name: string) {
    const json = { type, name, description: `for ${name}` }
    const made = await platform.project<Key>('POST', '/api-keys?reveal=true', { json })
    expect(made).toMatchObject({ status: 201, body: { type, name, description: `for ${name}` } })
    return made.body
  }

  test('are the legacy ones and the default ones at first', async () => {
    const { SECRET_KEY, SERVICE_ROLE_KEY, PUBLISHABLE_KEY, ANON_KEY } =
      await platform.server.status()
    const shown = await list('?reveal=true')
    expect(shown).toMatchObject([
      { type: 'legacy', name: 'anon', api_key: ANON_KEY },
      { type: 'legacy', name: 'service_role', api_key: SERVICE_ROLE_KEY },
      { type: 'publishable', name: 'default', api_key: PUBLISHABLE_KEY },
      {
        type: 'secret',
        name: 'default',
        api_key: SECRET_KEY,
        secret_jwt_template: { role: 'service_role' },
      },
    ])
    expect(new Set(shown.map(({ id }) => id)).size).toBe(4)
    for (const key of shown) {
      expect(await platform.project<Key>('GET', `/api-keys/${key.id}?reveal=true`)).toMatchObject({
        status: 200,
        body: key,
      })
      expect(key.api_key.startsWith(key.prefix)).toBe(true)
    }
    const masked = (await list()).find(({ type }) => type === 'secret')
    expect(masked?.api_key).not.toBe(SECRET_KEY)
    expect(masked?.api_key.startsWith(masked.prefix)).toBe(true)
  })

  test('cannot be changed if they follow from the server’s secret', async () => {
    for (const { id } of await list()) {
      const json = { name: 'other' }
      expect((await platform.project('PATCH', `/api-keys/${id}`, { json })).status).toBe(400)
      expect((await platform.project('DELETE', `/api-keys/${id}`)).status).toBe(400)
    }
    expect((await platform.project('PUT', '/api-keys/legacy?enabled=false')).status).toBe(400)
    expect(await platform.project('GET', '/api-keys/legacy')).toMatchObject({
      status: 200,
      body: { enabled: true },
    })
    expect(await list()).toHaveLength(4)
  })

  test.each([
    ['publishable', /^sb_publishable_/, 0],
    ['secret', /^sb_secret_/, 2],
  ])('that are made as %s ones work at once', async (type, form, visible) => {
    const { api_key, hash, id } = await create(type, `new_${type}`)
    expect(api_key).toMatch(form)
    expect(hash).toBe(createHash('sha256').update(api_key).digest('hex'))
    expect(await rows(api_key)).toBe(visible)
    const { error } = await client(api_key).auth.admin.listUsers()
    expect(error === null).toBe(type === 'secret')
    const { data: buckets } = await client(api_key).storage.listBuckets()
    expect(buckets?.length ?? 0).toBe(type === 'secret' ? 1 : 0)
    const email = `${crypto.randomUUID()}@example.com`
    const signedUp = await client(api_key).auth.signUp({ email, password: 'correct horse' })
    expect(signedUp.error).toBeNull()
    const channel = client(api_key).channel('any')
    const state = await new Promise((resolve) => channel.subscribe(resolve))
    expect(state).toBe('SUBSCRIBED')
    await channel.unsubscribe()
    const again = await platform.project('POST', '/api-keys', {
      json: { type, name: `new_${type}` },
    })
    expect(again.status).toBe(400)
    await platform.project('DELETE', `/api-keys/${id}`)
  })

  test('that are deleted work no more', async () => {
    const keys = [await create('secret', 'short'), await create('publishable', 'brief')]
    for (const { id, api_key } of keys) {
      expect(await rows(api_key)).toBeLessThan(3)
      expect(await platform.project<Key>('DELETE', `/api-keys/${id}`)).toMatchObject({
        status: 200,
        body: { id },
      })
      expect(await rows(api_key)).toBe(401)
      const health = await fetch(`${platform.url}/auth/v1/settings`, {
        headers: { apikey: api_key },
      })
      expect(health.status).toBe(401)
      expect((await platform.project('GET', `/api-keys/${id}`)).status).toBe(404)
      expect((await platform.project('DELETE', `/api-keys/${id}`)).status).toBe(404)
    }
    expect(await rows(platform.server.access.serviceKey)).toBe(2)
  })

  test('are renamed without another key', async () => {
    const { id, api_key, description } = await create('secret', 'before')
    const renamed = await platform.project<Key>('PATCH', `/api-keys/${id}?reveal=true`, {
      json: { name: 'afterwards' },
    })
    expect(renamed).toMatchObject({
      status: 200,
      body: { id, name: 'afterwards', description, api_key },
    })
    expect(await rows(api_key)).toBe(2)
    await create('secret', 'taken')
    for (const [name, status] of [
      ['taken', 400],
      ['No!', 400],
      ['abc', 400],
      ['a'.repeat(65), 400],
    ] as const) {
      const { status: actual } = await platform.project('PATCH', `/api-keys/${id}`, {
        json: { name },
      })
      expect([name, actual]).toEqual([name, status])
    }
    const nobody = crypto.randomUUID()
    for (const which of [nobody, 'nobody'])
      expect(
        (await platform.project('PATCH', `/api-keys/${which}`, { json: { name: 'nobody' } }))
          .status,
      ).toBe(404)
  })

  test('outlast a restart', async () => {
    const [secret, gone] = [await create('secret', 'lasting'), await create('secret', 'gone')]
    await platform.project('DELETE', `/api-keys/${gone.id}`)
    const before = await list('?reveal=true')
    const { dataDir, project } = platform.server
    await platform.server.stop({ keepData: true })
    const server = await Server.start({ project, dataDir, folders: [project] })
    platform = await Platform.of(server)
    expect(await list('?reveal=true')).toEqual(before)
    await expect.poll(() => rows(secret.api_key)).toBe(2)
    expect(await rows(gone.api_key)).toBe(401)
  })
})
