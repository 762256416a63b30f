import { randomUUID } from 'node:crypto'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { freePort } from '../../bench/lib/ports.mjs'
import { connect, type Client } from '../support/client.ts'
import { Server } from '../support/server.mjs'

describe.skipIf(inject('own') === null)('an origin for objects', () => {
  const bucket = `files-${randomUUID()}`
  let server: Server
  let origin: string
  let service: Client

  beforeAll(async () => {
    const port = await freePort()
    // Two names of the same server; the API is at 127.0.0.1.
    origin = `http://localhost:${port}`
    server = await Server.start({ port, env: { BASALT_STORAGE_ORIGIN: origin } })
    service = connect(server.access.url, server.access.serviceKey)
    expect((await service.storage.createBucket(bucket, { public: true })).error).toBeNull()
    const { error } = await service.storage
      .from(bucket)
      .upload('a.txt', 'text', { contentType: 'text/plain' })
    expect(error).toBeNull()
  })

  test('responds to reads of objects and nothing else', async () => {
    const headers = { apikey: server.access.anonKey }
    const own = await fetch(`${origin}/storage/v1/object/public/${bucket}/a.txt`, { headers })
    expect([own.status, await own.text()]).toEqual([200, 'text'])
    const preflight = await fetch(`${origin}/storage/v1/object/public/${bucket}/a.txt`, {
      method: 'OPTIONS',
      headers: { origin: 'https://site.example', 'access-control-request-method': 'GET' },
    })
    expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
    for (const path of [
      '/',
      '/index.html',
      '/assets/',
      '/rest/v1/',
      '/auth/v1/settings',
      '/functions/v1/chat',
      '/realtime/v1/websocket',
      '/health',
      '/storage/v1/bucket',
      '/storage/v1/status',
      '/storage/v1/s3/',
      '/storage/v1object/public/a/b',
      '/storage/v1/%6fbject/public/a/b',
    ]) {
      const response = await fetch(`${origin}${path}`, { headers })
      expect([path, response.status, await response.json()]).toEqual([
        path,
        404,
        { message: 'no Route matched with those values' },
      ])
    }
    for (const method of ['POST', 'PUT', 'DELETE'])
      expect((await fetch(`${origin}/storage/v1/object/${bucket}/a.txt`, { method })).status).toBe(
        404,
      )
  })

  test('gets the public and signed URLs of stock clients, and needs no change of them', async () => {
    const files = service.storage.from(bucket)
    const { data: signed } = await files.createSignedUrl('a.txt', 60)
    for (const url of [files.getPublicUrl('a.txt').data.publicUrl, String(signed?.signedUrl)]) {
      expect(url.startsWith(server.access.url)).toBe(true)
      const response = await fetch(url)
      expect([response.url, await response.text()]).toEqual([
        url.replace(server.access.url, origin),
        'text',
      ])
    }
    // With a token, which would not be sent to another origin.
    const { data: downloaded } = await files.download('a.txt')
    expect(await downloaded?.text()).toBe('text')
    expect((await files.exists('a.txt')).data).toBe(true)
    expect((await files.list()).data?.map(({ name }) => name)).toEqual(['a.txt'])
  })

  test('is named by the policy of the site’s pages', async () => {
    const page = await fetch(server.access.url)
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain(`img-src 'self' data: blob: ${origin};`)
    expect(policy).toContain(`script-src ${server.access.url}/assets/;`)
  })
})
