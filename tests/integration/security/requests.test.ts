import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'

import { PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { describe, expect, inject, test } from 'vitest'

import { exchange } from '../../support/raw.ts'
import { there } from '../auth/users.ts'
import { service } from '../clients.ts'

/** Returns the statuses of all responses to what is sent over one connection. */
async function statuses(request: string): Promise<number[]> {
  const responses = (await exchange(inject('access').url, [request])).matchAll(
    /HTTP\/1\.[01] (\d{3}) /g,
  )
  return Array.from(responses, ([, status]) => Number(status))
}

const line = (method: string, path: string, ...headers: string[]) => {
  const { url, anonKey } = inject('access')
  const all = [`host: ${new URL(url).host}`, `apikey: ${anonKey}`, ...headers]
  return `${method} ${path} HTTP/1.1\r\n${all.map((header) => `${header}\r\n`).join('')}\r\n`
}

describe.skipIf(inject('own') === null)('requests', () => {
  const rows = '/rest/v1/faqs?select=id&limit=1'

  test('whose length can be read in two ways are refused, and nothing after them is read', async () => {
    const second = line('GET', rows, 'connection: close')
    expect(await statuses(line('GET', rows) + second)).toEqual([200, 200])
    const ends = '0\r\n\r\n'
    for (const [headers, body] of [
      [['transfer-encoding: xchunked'], ends],
      [['transfer-encoding: chunked, identity'], ends],
      [['transfer-encoding: chunked', 'transfer-encoding: x'], ends],
      [['transfer-encoding : chunked'], ends],
      [['transfer-encoding:', ' chunked'], ends],
      [['content-length: 0', `content-length: ${String(second.length)}`], ''],
      [['content-length: 0, 0'], ''],
      [['content-length: +0'], ''],
      [['content-length: -1'], ''],
      [['content-length: 0x0'], ''],
      [['content-length: 18446744073709551616'], ''],
      [['x: a\rtransfer-encoding: chunked'], ''],
    ] as const)
      expect(await statuses(line('POST', '/rest/v1/rpc/x', ...headers) + body + second)).toEqual([
        400,
      ])
  })

  test('with a length and chunks end with their chunks, and their connection with them', async () => {
    const both = line(
      'DELETE',
      `${rows}&id=is.null`,
      'content-length: 4',
      'transfer-encoding: chunked',
    )
    expect(await statuses(`${both}0\r\n\r\n${line('GET', rows)}`)).toHaveLength(1)
    const counted = line('GET', rows, `content-length: ${String(line('GET', rows).length)}`)
    expect(await statuses(counted + line('GET', rows))).toEqual([200])
  })

  test('with chunks that hold nothing have an empty body', async () => {
    for (const [method, path] of [
      ['POST', '/rest/v1/rpc/no_such_function'],
      ['POST', '/rest/v1/faqs'],
      ['PATCH', '/rest/v1/faqs?id=is.null'],
      ['PUT', '/rest/v1/faqs?id=is.null'],
      ['DELETE', '/rest/v1/faqs?id=is.null'],
      ['POST', '/auth/v1/signup'],
      ['POST', '/auth/v1/token?grant_type=password'],
      ['POST', '/storage/v1/object/list/app'],
      ['POST', '/functions/v1/echo'],
      ['POST', '/realtime/v1/api/broadcast'],
    ] as const) {
      const request = line(method, path, 'transfer-encoding: chunked', 'connection: close')
      const [status = 0] = await statuses(`${request}0\r\n\r\n`)
      expect(status, path).toSatisfy((status: number) => status >= 200 && status < 500)
    }
  })

  test('whose body breaks off are the mistake of who sends them, in every service', async () => {
    const { url, serviceKey } = inject('access')
    const { accessKeyId, secretAccessKey, region } = there(inject('s3'))
    const Bucket = `broken-${randomUUID()}`
    expect((await service().storage.createBucket(Bucket)).error).toBeNull()
    const endpoint = `${url}/storage/v1/s3`
    const credentials = { accessKeyId, secretAccessKey }
    const s3 = new S3Client({ endpoint, region, forcePathStyle: true, credentials })
    const signed = await getSignedUrl(s3, new PutObjectCommand({ Bucket, Key: 'a' }))
    const presigned = signed.slice(url.length)
    const names = `bucketName ${btoa(Bucket)},objectName ${btoa('resumable')}`
    const headers = { authorization: `Bearer ${serviceKey}`, 'tus-resumable': '1.0.0' }
    const created = await fetch(`${url}/storage/v1/upload/resumable`, {
      method: 'POST',
      headers: { ...headers, 'upload-length': '10', 'upload-metadata': names },
    })
    const resumable = there(created.headers.get('location')).slice(url.length)

    const type = 'content-type: application/json'
    const bytes = 'content-type: application/offset+octet-stream'
    const form = 'content-type: multipart/form-data; boundary=b'
    const field = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n'
    for (const [method, path, more, start = '{"a":'] of [
      ['POST', '/rest/v1/faqs', [type]],
      ['POST', '/rest/v1/rpc/no_such_function', [type]],
      ['PATCH', '/rest/v1/faqs?id=is.null', [type]],
      ['POST', '/auth/v1/signup', [type]],
      ['POST', '/auth/v1/token?grant_type=password', [type]],
      ['POST', '/auth/v1/admin/users', [type]],
      ['POST', '/functions/v1/echo', [type]],
      ['POST', '/realtime/v1/api/broadcast', [type]],
      ['POST', '/storage/v1/bucket', [type]],
      ['POST', `/storage/v1/object/list/${Bucket}`, [type]],
      ['POST', `/storage/v1/object/${Bucket}/raw`, ['content-type: text/plain']],
      ['PUT', `/storage/v1/object/${Bucket}/raw`, ['content-type: text/plain']],
      ['POST', `/storage/v1/object/${Bucket}/form`, [form], field],
      ['PATCH', resumable, ['tus-resumable: 1.0.0', 'upload-offset: 0', bytes]],
      ['PUT', presigned, ['content-type: text/plain']],
      ['POST', `/storage/v1/s3/${Bucket}`, [form], field],
    ] as const) {
      const chunk = `${start.length.toString(16)}\r\n${start}`
      const isSigned = path === presigned
      const all = isSigned ? more : [...more, `authorization: Bearer ${serviceKey}`]
      for (const [header, body] of [
        ['transfer-encoding: chunked', 'ZZ\r\nnothing\r\n0\r\n\r\n'],
        ['transfer-encoding: chunked', `${chunk}\r\nZZ\r\nnothing\r\n0\r\n\r\n`],
        ['transfer-encoding: chunked', `${chunk}and more\r\n0\r\n\r\n`],
        ['transfer-encoding: chunked', `${chunk}\r\n`],
        ['transfer-encoding: chunked', 'ffffffffffffffff0\r\nnothing'],
        [`content-length: ${String(start.length + 5)}`, start],
      ] as const) {
        const responses = await exchange(url, [line(method, path, ...all, header) + body])
        // Of a resumable upload what has arrived is kept, so that it can be continued from there.
        const expected = path === resumable ? /^HTTP\/1\.1 (204|400|409) / : /^HTTP\/1\.1 400 /
        expect(responses, `${method} ${path} ${body}`).toMatch(expected)
      }
    }
    const { data } = await service().storage.from(Bucket).list()
    expect(data).toEqual([])
    await service().storage.deleteBucket(Bucket)
  })

  test('without a host, with two or with one that is none are refused', async () => {
    const { host } = new URL(inject('access').url)
    const asked = async (target: string, version: string, ...hosts: string[]) => {
      const lines = hosts.map((value) => `host: ${value}\r\n`).join('')
      return await statuses(`GET ${target} HTTP/${version}\r\n${lines}connection: close\r\n\r\n`)
    }
    for (const target of ['/health', '/', '/rest/v1/', '/auth/v1/health', '/storage/v1/status']) {
      expect(await asked(target, '1.1'), target).toEqual([400])
      expect(await asked(target, '1.1', host, host), target).toEqual([400])
      expect(await asked(target, '1.1', host, 'evil.example'), target).toEqual([400])
      expect(await asked(target, '1.0', host, 'evil.example'), target).toEqual([400])
      for (const none of ['evil example', 'evil/x', 'me@evil', '"><script>', 'a,b'])
        expect(await asked(target, '1.1', none), none).toEqual([400])
    }
    expect(await asked('/health', '1.1', host)).toEqual([200])
    expect(await asked('/health', '1.1', 'any_service:80')).toEqual([200])
    expect(await asked('/health', '1.0')).toEqual([200])
    // Nothing of the connection is read after a request whose host is in doubt.
    const second = line('GET', '/health', 'connection: close')
    expect(await statuses(`GET /health HTTP/1.1\r\n\r\n${second}`)).toEqual([400])
    // The host of an absolute target counts (RFC 9112, section 3.2.2).
    const page = (target: string, ...hosts: string[]) => {
      const lines = hosts.map((value) => `host: ${value}\r\n`).join('')
      const begin = `GET ${target} HTTP/1.1\r\n${lines}connection: close\r\n\r\n`
      return exchange(inject('access').url, [begin])
    }
    const absolute = await page('http://club.example/', 'evil.example')
    expect(absolute).toContain('http://club.example')
    expect(absolute).not.toContain('evil.example')
    expect(await page('http://club.example/')).toMatch(/^HTTP\/1\.1 400 /)
    expect(await page('http://me@club.example/', 'club.example')).toMatch(/^HTTP\/1\.1 400 /)
  })

  test('with compressed bodies are not unpacked', async () => {
    const { url, anonKey: apikey } = inject('access')
    const rows = JSON.stringify([{ question: ' '.repeat(32 << 20) }])
    const headers = { apikey, 'content-encoding': 'gzip', 'content-type': 'application/json' }
    const authorization = `Bearer ${apikey}`
    for (const path of ['rest/v1/faqs', 'auth/v1/signup', 'storage/v1/object/list/app']) {
      const body = gzipSync(rows)
      const request = { method: 'POST', headers: { ...headers, authorization }, body }
      expect((await fetch(`${url}/${path}`, request)).status, path).toBe(400)
    }
  })

  test('say by their host where a page is, and nothing else gets into it', async () => {
    const { url } = inject('access')
    const page = (...headers: string[]) => {
      const lines = [...headers, 'connection: close'].map((header) => `${header}\r\n`).join('')
      return exchange(url, [`GET / HTTP/1.1\r\n${lines}\r\n`])
    }
    const clubs = await page('host: club.example')
    expect(clubs).toContain('http://club.example')
    // Whoever keeps a copy has to ask again, so that no host's page is shown under another.
    expect(clubs).toMatch(/^cache-control: no-cache\r$/m)
    const forwarded = [
      'x-forwarded-host: evil.example',
      'x-forwarded-prefix: /evil',
      'x-forwarded-proto: https',
      'x-original-host: evil.example',
      'forwarded: host=evil',
    ]
    const noted = await page('host: club.example', ...forwarded)
    expect(noted).toContain('http://club.example')
    expect(noted).not.toMatch(/evil|https:\/\/club|strict-transport-security/i)
    const broken = await page('host: "><script>alert(1)</script>')
    expect(broken).toMatch(/^HTTP\/1\.1 400 /)
    expect(broken).not.toContain('alert(1)')
  })

  test('of other origins get a response without credentials', async () => {
    const { url, anonKey: apikey } = inject('access')
    const headers = { apikey, origin: 'https://evil.example' }
    for (const path of ['rest/v1/faqs?limit=1', 'auth/v1/settings', 'storage/v1/bucket', '']) {
      const response = await fetch(`${url}/${path}`, { headers })
      expect(response.headers.get('access-control-allow-credentials'), path).toBeNull()
      expect(response.headers.get('set-cookie'), path).toBeNull()
    }
  })
})
