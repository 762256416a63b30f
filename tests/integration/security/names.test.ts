import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { exchange } from '../../support/raw.ts'
import { service } from '../clients.ts'

/** Sends a path as it is, which clients would normalise; returns status and body. */
async function get(path: string, headers: Record<string, string> = {}) {
  const { url, anonKey } = inject('access')
  const { host } = new URL(url)
  const all = { host, apikey: anonKey, connection: 'close', ...headers }
  const lines = Object.entries(all).filter(([, value]) => value !== '')
  const text = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const response = await exchange(url, [`GET ${path} HTTP/1.1\r\n${text}\r\n`])
  return {
    status: Number(response.slice(9, 12)),
    body: response.slice(response.indexOf('\r\n\r\n')),
  }
}

describe.skipIf(inject('own') === null)('names and paths', () => {
  const open = `open-${crypto.randomUUID()}`
  const closed = `closed-${crypto.randomUUID()}`
  const secret = 'nobody reads this'

  beforeAll(async () => {
    const { storage } = service()
    await storage.createBucket(open, { public: true })
    await storage.createBucket(closed, { public: false })
    await storage.from(open).upload('a.txt', 'everybody reads this')
    await storage.from(closed).upload('a.txt', secret)
  })

  afterAll(async () => {
    for (const bucket of [open, closed]) await service().storage.emptyBucket(bucket)
  })

  test('lead out of no public bucket', async () => {
    const objects = '/storage/v1/object/public'
    expect((await get(`${objects}/${open}/a.txt`)).body).toContain('everybody')
    for (const path of [
      `${closed}/a.txt`,
      `${open}/../${closed}/a.txt`,
      `${open}/%2e%2e/${closed}/a.txt`,
      `${open}/..%2f${closed}%2fa.txt`,
      `${open}%2f..%2f${closed}/a.txt`,
      `${open}/..;/${closed}/a.txt`,
      `${open}/..\\${closed}\\a.txt`,
      `/${closed}/a.txt`,
      `${closed}%00/a.txt`,
      `${open}/%252e%252e/${closed}/a.txt`,
      `${open}/../../../../../../etc/passwd`,
      `..%2f..%2f..%2fetc/passwd`,
    ]) {
      const { status, body } = await get(`${objects}/${path}`)
      expect(status, path).toBe(400)
      expect(body).not.toContain(secret)
    }
    for (const path of [`info/public/${closed}/a.txt`, `info/${closed}/a.txt`, `${closed}/a.txt`])
      expect((await get(`/storage/v1/object/${path}`)).status, path).toBe(400)
  })

  test('lead to no function that is none', async () => {
    for (const path of [
      '_shared',
      '..',
      '.',
      '%2e%2e',
      '..%2f..',
      'echo%2f..%2f_shared',
      'ECHO',
      '',
    ])
      expect((await get(`/functions/v1/${path}`)).status, path).toBe(404)
  })

  test('lead out of no folder of the site', async () => {
    for (const path of [
      '/../../config.toml',
      '/assets/../../config.toml',
      '/assets/..%2f..%2fconfig.toml',
      '/%2e%2e/%2e%2e/config.toml',
      '/..%5cconfig.toml',
    ]) {
      const { status, body } = await get(path)
      expect(status, path).toBe(404)
      expect(body).not.toContain('project_id')
    }
  })

  test('lead from no open path of auth to a closed one', async () => {
    const authorization = `Bearer ${inject('access').serviceKey}`
    for (const path of [
      '/auth/v1/verify/../admin/users',
      '/auth/v1/callback/../admin/users',
      '/auth/v1/.well-known/../admin/users',
      '/auth/v1/authorize%2f..%2fadmin/users',
      '/.well-known/oauth-authorization-server/auth/v1/admin/users',
      '/.well-known/oauth-authorization-server/../admin/users',
    ]) {
      const { status, body } = await get(path, { apikey: '', authorization })
      expect([401, 404], path).toContain(status)
      expect(body).not.toContain('"users"')
    }
  })

  test('lead to no schema that is not exposed', async () => {
    for (const schema of ['auth', 'storage', 'vault', 'net', 'cron', 'basalt', 'pg_catalog']) {
      const { status, body } = await get('/rest/v1/users', { 'accept-profile': schema })
      expect([status, body]).toEqual([406, expect.stringContaining('PGRST106')])
    }
  })
})
