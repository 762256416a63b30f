/** Objects, on two nodes. */
import { randomBytes } from 'node:crypto'

import { Upload } from 'tus-js-client'
import { describe, expect, inject, test } from 'vitest'

import type { Access } from '../support/server.mjs'
import { service, visitor } from '../support/notes.ts'
import { found, unique } from './clients.ts'

const { all, one, two } = inject('cluster')

async function bytesOf(blob: Blob) {
  return Buffer.from(await blob.arrayBuffer())
}

test('what one node has stored the other one gives out', async () => {
  const name = unique('object')
  const bytes = randomBytes(100_000)
  found(await service(one).storage.from('private').upload(name, bytes))
  const bucket = service(two).storage.from('private')
  expect((await bytesOf(found(await bucket.download(name)))).equals(bytes)).toBe(true)

  const { signedUrl } = found(await service(one).storage.from('private').createSignedUrl(name, 60))
  const there = new URL(signedUrl)
  there.host = new URL(two.url).host
  expect(Buffer.from(await (await fetch(there)).arrayBuffer()).equals(bytes)).toBe(true)

  found(await bucket.remove([name]))
  expect((await service(one).storage.from('private').download(name)).error).not.toBeNull()
})

describe('a public object', () => {
  /** How long a node may give out what the other one has changed, in milliseconds. */
  const staleness = 1000

  async function read({ url }: Access, name: string) {
    const response = await fetch(`${url}/storage/v1/object/public/public/${name}`)
    return response.ok ? await response.text() : response.status
  }

  test.for([
    ['one', one, two],
    ['two', two, one],
  ] as const)(
    'that is changed and removed at node %s is fresh at the other',
    async ([, here, there]) => {
      const name = unique('page')
      const bucket = service(here).storage.from('public')
      found(await bucket.upload(name, 'first'))
      // Read often enough to be kept in memory.
      for (let n = 0; n < 5; n += 1) expect(await read(there, name)).toBe('first')
      found(await bucket.update(name, 'second'))
      await expect
        .poll(() => read(there, name), { timeout: staleness, interval: 10 })
        .toBe('second')
      found(await bucket.remove([name]))
      await expect.poll(() => read(there, name), { timeout: staleness, interval: 10 }).toBe(400)
      expect(await read(here, name)).toBe(400)
    },
  )
})

describe('a resumable upload', () => {
  const bytes = randomBytes(5_000_000)

  /** Uploads to a node, until `stopAt` bytes are through; returns the address to go on at. */
  async function upload({ url, serviceKey }: Access, name: string, stopAt: number, at?: string) {
    return await new Promise<string>((resolve, reject) => {
      const upload = new Upload(bytes, {
        endpoint: `${url}/storage/v1/upload/resumable`,
        uploadUrl: at ?? null,
        retryDelays: null,
        headers: { authorization: `Bearer ${serviceKey}` },
        chunkSize: 1_000_000,
        metadata: { bucketName: 'private', objectName: name, contentType: 'image/png' },
        onError: reject,
        onSuccess: () => resolve(upload.url ?? ''),
        onChunkComplete: (_size, accepted) => {
          if (accepted >= stopAt) void upload.abort().then(() => resolve(upload.url ?? ''))
        },
      })
      upload.start()
    })
  }

  async function expectStored(name: string) {
    const stored = found(await service(all).storage.from('private').download(name))
    expect((await bytesOf(stored)).equals(bytes)).toBe(true)
  }

  test('that one node has begun is continued at the other', async () => {
    const name = unique('begun')
    const at = (url: string, { host }: URL) => Object.assign(new URL(url), { host }).href
    const begun = await upload(one, name, 2_000_000)
    const went = await upload(two, name, 4_000_000, at(begun, new URL(two.url)))
    await upload(one, name, Infinity, at(went, new URL(one.url)))
    await expectStored(name)
  })

  test('goes through the balancer', async () => {
    const name = unique('balanced')
    await upload(all, name, Infinity)
    await expectStored(name)
  })
})

test('is refused at both nodes without the right to upload', async () => {
  for (const access of [one, two]) {
    const { error } = await visitor(access).storage.from('missing').upload('a', 'a')
    expect(error).not.toBeNull()
  }
})
