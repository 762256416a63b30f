import { gzipSync } from 'node:zlib'

import { describe, expect, inject, test } from 'vitest'

import { exchange } from '../../support/raw.ts'

/** Returns the statuses of all answers to what is sent over one connection. */
async function statuses(request: string): Promise<number[]> {
  const answers = (await exchange(inject('access').url, [request])).matchAll(/HTTP\/1\.1 (\d{3}) /g)
  return Array.from(answers, ([, status]) => Number(status))
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
    expect(await page('host: club.example')).toContain('http://club.example')
    const forwarded = [
      'x-forwarded-host: evil.example',
      'x-forwarded-prefix: /evil',
      'forwarded: host=evil',
    ]
    expect(await page('host: club.example', ...forwarded)).not.toContain('evil')
    const broken = await page('host: "><script>alert(1)</script>')
    expect(broken).not.toContain('alert(1)')
    // Whoever keeps a copy has to ask again, so that no host's page is shown under another.
    expect(broken).toMatch(/^cache-control: no-cache\r$/m)
  })

  test('of other origins are answered without credentials', async () => {
    const { url, anonKey: apikey } = inject('access')
    const headers = { apikey, origin: 'https://evil.example' }
    for (const path of ['rest/v1/faqs?limit=1', 'auth/v1/settings', 'storage/v1/bucket', '']) {
      const answer = await fetch(`${url}/${path}`, { headers })
      expect(answer.headers.get('access-control-allow-credentials'), path).toBeNull()
      expect(answer.headers.get('set-cookie'), path).toBeNull()
    }
  })
})
