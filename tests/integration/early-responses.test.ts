import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { exchange, head, run } from '../support/raw.ts'

/** More than all buffers on the way can hold. */
const large = Buffer.alloc(8 << 20, 'x')

/** httpx is a dependency of Supabase's Python client. */
const python = path.resolve(import.meta.dirname, '../python/.venv/bin/python')

const put = `
import sys, httpx
url, status, *pairs = sys.argv[1:]
headers = dict(pair.split("=", 1) for pair in pairs)
for body in (b"x" * (8 << 20), (b"x" * (1 << 16) for _ in range(128))):
    response = httpx.post(url, content=body, headers=headers, timeout=60)
    assert response.status_code == int(status), response
response = httpx.post(url, files={"file": ("a.txt", b"tiny")}, headers=headers, timeout=60)
assert response.status_code == int(status), response
`

/**
 * Runs curl, and returns what it prints. Over HTTP/2 it ends the body where it reads the status of an error, and before
 * all that it has announced; if the response has not ended then, that is an error of the stream (RFC 9113, 8.1.1).
 */
async function curl(words: string[], tries = 3): Promise<string> {
  try {
    return (await run('curl', words)).stdout
  } catch (error) {
    if (tries > 1 && String(error).includes('PROTOCOL_ERROR')) return curl(words, tries - 1)
    throw error
  }
}

interface RefusedCall {
  name: string
  url: string
  headers: Record<string, string>
  status: number
}

/** Calls that are refused before anybody has read their bodies. */
function refusedCalls(): RefusedCall[] {
  const { url, anonKey } = inject('access')
  const wrong = { apikey: anonKey, authorization: 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.AAAA' }
  return [
    { name: 'REST without a key', url: `${url}/rest/v1/faqs`, headers: {}, status: 401 },
    { name: 'REST with a bad token', url: `${url}/rest/v1/faqs`, headers: wrong, status: 401 },
    { name: 'auth without a key', url: `${url}/auth/v1/signup`, headers: {}, status: 401 },
    {
      name: 'auth, where there is nothing',
      url: `${url}/auth/v1/no-such-place`,
      headers: { apikey: anonKey },
      status: 404,
    },
    {
      name: 'storage with a bad token',
      url: `${url}/storage/v1/object/app/a.txt`,
      headers: wrong,
      // The service responds with 400 and says the true status, 403, in the body.
      status: 400,
    },
    {
      name: 'a function with a bad token',
      url: `${url}/functions/v1/echo`,
      headers: wrong,
      status: 401,
    },
    { name: 'no function', url: `${url}/functions/v1/nobody`, headers: {}, status: 404 },
    { name: 'the site, which takes nothing', url: `${url}/nothing/v1`, headers: {}, status: 405 },
  ]
}

describe.skipIf(inject('own') === null)('a response that comes before the body was read', () => {
  let folder: string
  let file: string

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'basalt-body-'))
    file = path.join(folder, 'large')
    await writeFile(file, large)
  })

  afterAll(() => rm(folder, { recursive: true, force: true }))

  test.each(refusedCalls())('reaches fetch: $name', async ({ url, headers, status }) => {
    for (let times = 0; times < 10; times++) {
      const form = new FormData()
      form.append('file', new File(['tiny'], 'a.txt'))
      const response = await fetch(url, { method: 'POST', headers, body: form })
      expect(response.status).toBe(status)
      await response.arrayBuffer()
    }
    for (let times = 0; times < 3; times++) {
      const response = await fetch(url, { method: 'POST', headers, body: large })
      expect(response.status).toBe(status)
      await response.arrayBuffer()
    }
  })

  test.each(refusedCalls())('reaches curl: $name', async ({ url, headers, status }) => {
    const sent = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    // curl uses Expect before it sends a body of this size, unless the header is set to be empty.
    for (const more of [
      [],
      ['-H', 'Expect:'],
      ['-H', 'Transfer-Encoding: chunked'],
      ['--http2-prior-knowledge'],
    ]) {
      const flags = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', '--data-binary', `@${file}`]
      expect(await curl([...flags, ...sent, ...more, url]), more.join(' ')).toBe(String(status))
    }
  })

  test.each(refusedCalls())('reaches httpx: $name', async ({ url, headers, status }) => {
    const pairs = Object.entries(headers).map(([name, value]) => `${name}=${value}`)
    await run(python, ['-c', put, url, String(status), ...pairs])
  })

  test.each(refusedCalls())('reaches who reads last: $name', async ({ url, headers, status }) => {
    const length = { ...headers, 'content-length': String(large.length) }
    const response = await exchange(url, [head('POST', url, length), large])
    expect(response).toMatch(
      new RegExp(`^HTTP/1.1 ${String(status)} [^]*\r\nconnection: close\r\n`),
    )
    const withheld = { ...length, expect: '100-continue' }
    expect(await exchange(url, [head('POST', url, withheld)])).toMatch(
      `HTTP/1.1 ${String(status)} `,
    )
  })

  test('says that a body is too large', async () => {
    const { url, serviceKey } = inject('access')
    const headers = { apikey: serviceKey, authorization: `Bearer ${serviceKey}` }
    const larger = Buffer.alloc(64 << 20, 'x')
    for (const [service, body] of [
      ['auth/v1/signup', large],
      ['rest/v1/faqs', larger],
      ['functions/v1/echo', larger],
    ] as const) {
      const response = await fetch(`${url}/${service}`, { method: 'POST', headers, body })
      expect([service, response.status]).toEqual([service, 413])
      await response.arrayBuffer()
    }
  })
})
