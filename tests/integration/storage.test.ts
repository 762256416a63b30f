import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { service, visitor } from './clients.ts'

describe('a bucket of one’s own', () => {
  const name = `bucket ${randomUUID()}`
  const bucket = () => service().storage.from(name)

  beforeAll(async () => {
    expect((await service().storage.createBucket(name, { public: false })).error).toBeNull()
  })

  afterAll(async () => {
    await service().storage.emptyBucket(name)
    expect((await service().storage.deleteBucket(name)).error).toBeNull()
  })

  test('opens names with marks of URLs', async () => {
    const path = 'marks/what?is+this & that=1.txt'
    const encoded = encodeURIComponent(path).replaceAll('%2F', '/')
    expect((await bucket().upload(encoded, 'marks')).error).toBeNull()
    expect((await bucket().list('marks')).data?.map((entry) => `marks/${entry.name}`)).toEqual([
      path,
    ])
    const { data: one } = await bucket().createSignedUrl(encoded, 60, { download: 'a&b.txt' })
    const { data: many } = await bucket().createSignedUrls([path], 60)
    for (const url of [one?.signedUrl, many?.[0]?.signedUrl]) {
      const opened = await fetch(url ?? '')
      expect(await opened.text(), url ?? undefined).toBe('marks')
    }
    const { data: ticket } = await bucket().createSignedUploadUrl('marks/new%3F.txt')
    const { error } = await visitor()
      .storage.from(name)
      .uploadToSignedUrl('marks/new%3F.txt', ticket?.token ?? '', 'new')
    expect(error).toBeNull()
    expect(await (await bucket().download('marks/new%3F.txt')).data?.text()).toBe('new')
    expect((await bucket().remove([path, 'marks/new?.txt'])).data).toHaveLength(2)
  })

  test('serves encoded bytes as what they are', async () => {
    const bytes = gzipSync('some text')
    for (const [path, body] of [
      ['coded/raw.txt', bytes],
      ['coded/blob.svg', new Blob([bytes], { type: 'image/svg+xml' })],
    ] as const) {
      const { error } = await bucket().upload(path, body, { contentEncoding: 'gzip' })
      expect(error, path).toBeNull()
      expect(await (await bucket().download(path)).data?.text(), path).toBe('some text')
      const { data: info } = await bucket().info(path)
      expect(info).toMatchObject({ contentEncoding: 'gzip', size: bytes.length })
    }
    await bucket().upload('coded/plain.txt', 'some text')
    const { data: plain } = await bucket().info('coded/plain.txt')
    expect(plain?.contentEncoding).toBeNull()
  })

  test('has no analytics buckets', async () => {
    const { error } = await service().storage.analytics.listBuckets()
    expect(error).toMatchObject({ status: 404 })
  })
})
