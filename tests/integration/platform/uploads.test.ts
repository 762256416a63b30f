import { once } from 'node:events'
import { connect } from 'node:net'

import { afterEach, beforeAll, describe, expect, inject, test } from 'vitest'

import { Platform, saying } from './support.ts'

describe.skipIf(inject('own') === null)('functions from a body that is broken', () => {
  let platform: Platform

  beforeAll(async () => {
    platform = await Platform.start()
  })

  const path = 'supabase/functions/broken/index.ts'
  const metadata = JSON.stringify({ name: 'broken', entrypoint_path: path })
  const boundary = 'a-boundary'
  const part = (head: string, content: string) =>
    `--${boundary}\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
  const file = (name: string, content = saying('broken')) =>
    part(`name="file"; filename="${name}"`, content)
  const whole = (...parts: string[]) => `${parts.join('')}--${boundary}--\r\n`
  const good = whole(part('name="metadata"', metadata), file(path))

  async function send(body: string, type = `multipart/form-data; boundary=${boundary}`) {
    return platform.project('POST', '/functions/deploy?slug=broken', {
      body,
      headers: { 'Content-Type': type },
    })
  }

  afterEach(async () => {
    await platform.project('DELETE', '/functions/broken')
  })

  async function expectNothing() {
    expect(await platform.listed('broken')).toBeUndefined()
    expect((await platform.call('broken')).status).toBe(404)
  }

  test.each([
    ['nothing', ''],
    ['no multipart', 'hello'],
    ['no file', whole(part('name="metadata"', metadata))],
    ['no metadata', whole(file(path))],
    ['metadata that are no JSON', whole(part('name="metadata"', '{'), file(path))],
    ['metadata that are a list', whole(part('name="metadata"', '[]'), file(path))],
    ['no main file', whole(part('name="metadata"', '{"name":"broken"}'), file(path))],
    ['another main file', whole(part('name="metadata"', metadata), file('other.ts'))],
    [
      'no import map',
      whole(
        part(
          'name="metadata"',
          JSON.stringify({ entrypoint_path: path, import_map_path: 'deno.json' }),
        ),
        file(path),
      ),
    ],
    ['a file twice', whole(part('name="metadata"', metadata), file(path), file(`./${path}`))],
    [
      'a file within a file',
      whole(part('name="metadata"', metadata), file(path), file(`${path}/a.ts`)),
    ],
    [
      'a name that is too long',
      whole(part('name="metadata"', metadata), file(path), file(`${'a'.repeat(300)}.ts`)),
    ],
    [
      'a part of another name',
      whole(part('name="metadata"', metadata), file(path), part('name="x"', '')),
    ],
  ])('are not deployed: %s', async (_, body) => {
    const { status, body: refusal } = await send(body)
    expect({ status, refusal }).toEqual({
      status: 400,
      refusal: { message: expect.any(String) as string },
    })
    await expectNothing()
  })

  test.each([
    '../outside.ts',
    'supabase/../../outside.ts',
    'supabase/functions/../../../outside.ts',
    '/etc/outside.ts',
    'file:///etc/outside.ts',
    '..\\\\outside.ts',
    '',
    '..',
    '.',
  ])('are not deployed: a file at %j', async (name) => {
    expect(
      (await send(whole(part('name="metadata"', metadata), file(path), file(name)))).status,
    ).toBe(400)
    const entry = JSON.stringify({ name: 'broken', entrypoint_path: name })
    expect((await send(whole(part('name="metadata"', entry), file(path)))).status).toBe(400)
    await expectNothing()
  })

  test('are not deployed where it breaks off', async () => {
    for (let length = 1; length < good.length - 4; length += 7) {
      const { status } = await send(good.slice(0, length))
      expect({ length, status }).toEqual({ length, status: 400 })
    }
    await expectNothing()
  })

  test('are not deployed where the connection ends', async () => {
    const { hostname, port } = new URL(platform.url)
    const head = [
      `POST /v1/projects/${platform.ref}/functions/deploy?slug=broken HTTP/1.1`,
      `Host: ${hostname}:${port}`,
      `Authorization: Bearer ${platform.token}`,
      `Content-Type: multipart/form-data; boundary=${boundary}`,
      `Content-Length: ${String(good.length + 100)}`,
    ]
    const socket = connect(Number(port), hostname)
    socket.on('error', () => undefined)
    socket.write(`${head.join('\r\n')}\r\n\r\n${good}`.slice(0, -20))
    await once(socket, 'connect')
    socket.end()
    socket.resume()
    await once(socket, 'close')
    await expectNothing()
  })

  test('are not deployed as what is no name', async () => {
    for (const slug of ['1a', '-a', 'a/b', 'a b', 'ä', '..', 'a'.repeat(200)]) {
      const { status } = await platform.project(
        'POST',
        `/functions/deploy?slug=${encodeURIComponent(slug)}`,
        { body: good, headers: { 'Content-Type': `multipart/form-data; boundary=${boundary}` } },
      )
      expect({ slug, status }).toEqual({ slug, status: 400 })
    }
    expect((await send(good, 'application/json')).status).toBe(400)
    expect((await send(good, 'multipart/form-data')).status).toBe(400)
    await expectNothing()
  })

  test('are deployed once it is whole', async () => {
    expect((await send(good)).status).toBe(201)
    expect((await platform.call('broken')).text).toBe('broken')
  })
})
