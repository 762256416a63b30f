import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { service, visitor } from './clients.ts'

test('a public object is served with its type, its tag and its ranges', async () => {
  const { data } = visitor().storage.from('app').getPublicUrl('demo-20250514.mp4')
  const whole = await fetch(data.publicUrl)
  expect(whole.status).toBe(200)
  expect(whole.headers.get('content-type')).toBe('video/mp4')
  const size = Number(whole.headers.get('content-length'))
  expect((await whole.arrayBuffer()).byteLength).toBe(size)

  const part = await fetch(data.publicUrl, { headers: { Range: 'bytes=0-99' } })
  expect(part.status).toBe(206)
  expect(part.headers.get('content-range')).toBe(`bytes 0-99/${String(size)}`)
  expect((await part.arrayBuffer()).byteLength).toBe(100)

  const etag = whole.headers.get('etag') ?? ''
  const fresh = await fetch(data.publicUrl, { headers: { 'If-None-Match': etag } })
  expect(fresh.status).toBe(304)
})

test('a missing object is an error of the service', async () => {
  const { data } = visitor().storage.from('app').getPublicUrl('no-such-file.png')
  const answer = await fetch(data.publicUrl)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ statusCode: '404', message: 'Object not found' })
})

describe('a bucket of one’s own', () => {
  const name = `bucket ${randomUUID()}`
  const bucket = () => service().storage.from(name)

  beforeAll(async () => {
    const { data, error } = await service().storage.createBucket(name, {
      public: false,
      fileSizeLimit: '1MB',
      allowedMimeTypes: ['image/*', 'text/plain;charset=UTF-8'],
    })
    expect(error).toBeNull()
    expect(data).toEqual({ name })
  })

  afterAll(async () => {
    await service().storage.emptyBucket(name)
    const { data, error } = await service().storage.deleteBucket(name)
    expect(error).toBeNull()
    expect(data?.message).toBe('Successfully deleted')
  })

  test('is found, listed and changed', async () => {
    const { storage } = service()
    const { data: found } = await storage.getBucket(name)
    expect(found).toMatchObject({ id: name, name, public: false, file_size_limit: 1_000_000 })
    const { data: listed } = await storage.listBuckets({ search: name, limit: 1 })
    expect(listed?.map(({ id }) => id)).toEqual([name])
    const { error } = await storage.updateBucket(name, { public: false, fileSizeLimit: 900_000 })
    expect(error).toBeNull()
    expect((await storage.getBucket(name)).data?.file_size_limit).toBe(900_000)
    const { error: taken } = await storage.createBucket(name)
    expect(taken).toMatchObject({ message: 'The resource already exists', status: 400 })
  })

  test('takes every kind of body', async () => {
    const png = Buffer.from('89504e470d0a1a0a', 'hex')
    for (const [path, body, options] of [
      ['kinds/text.txt', 'some text', undefined],
      ['kinds/a b & c=d+e.png', png, { contentType: 'image/png' }],
      ['kinds/blob.png', new Blob([png], { type: 'image/png' }), { cacheControl: '60' }],
      [
        'kinds/file.png',
        new File([png], 'file.png', { type: 'image/png' }),
        { metadata: { a: 1 } },
      ],
      ['kinds/bytes.png', new Uint8Array(png), { contentType: 'image/png' }],
    ] as const) {
      const { data, error } = await bucket().upload(path, body, options)
      expect(error, path).toBeNull()
      expect(data).toMatchObject({ path, fullPath: `${name}/${path}` })
      const { data: read } = await bucket().download(path)
      expect(await read?.text(), path).toBe(await new Response(body).text())
      expect((await bucket().exists(path)).data).toBe(true)
    }
    const { data: info } = await bucket().info('kinds/file.png')
    expect(info).toMatchObject({
      bucketId: name,
      contentType: 'image/png',
      metadata: { a: 1 },
      size: 8,
    })
    const { data: blob } = await bucket().info('kinds/blob.png')
    expect(blob?.cacheControl).toBe('max-age=60')
  })

  test('refuses what its limits say', async () => {
    const large = await bucket().upload(
      'large.png',
      new Blob([Buffer.alloc(900_001)], { type: 'image/png' }),
    )
    expect(large.error).toMatchObject({ statusCode: '413' })
    const page = await bucket().upload('page.html', '<p>', { contentType: 'text/html' })
    expect(page.error?.message).toBe('mime type text/html is not supported')
    expect((await bucket().exists('large.png')).data).toBe(false)
  })

  test('replaces only where asked', async () => {
    const upload = (text: string, upsert: boolean) => bucket().upload('again.txt', text, { upsert })
    expect((await upload('one', false)).error).toBeNull()
    expect((await upload('two', false)).error).toMatchObject({ statusCode: '409' })
    expect((await upload('two', true)).error).toBeNull()
    expect((await bucket().update('again.txt', 'three')).error).toBeNull()
    expect(await (await bucket().download('again.txt')).data?.text()).toBe('three')
  })

  test('lists, moves, copies and removes', async () => {
    for (const path of ['tree/a.txt', 'tree/deep/b.txt', 'tree/c.txt'])
      await bucket().upload(path, path)
    const { data: listed } = await bucket().list('tree')
    expect(listed?.map((entry) => entry.name)).toEqual(['a.txt', 'c.txt', 'deep'])
    const { data: page } = await bucket().listV2({
      prefix: 'tree/',
      with_delimiter: true,
      limit: 2,
    })
    expect(page).toMatchObject({ hasNext: true })
    const { data: rest } = await bucket().listV2({
      prefix: 'tree/',
      with_delimiter: true,
      cursor: page?.nextCursor ?? '',
    })
    expect([page, rest].flatMap((part) => part?.objects ?? []).map((entry) => entry.name)).toEqual([
      'tree/a.txt',
      'tree/c.txt',
    ])
    expect((await bucket().move('tree/a.txt', 'tree/moved.txt')).error).toBeNull()
    expect((await bucket().copy('tree/moved.txt', 'tree/copy.txt')).data?.path).toBe(
      `${name}/tree/copy.txt`,
    )
    const { data: removed } = await bucket().remove([
      'tree/moved.txt',
      'tree/copy.txt',
      'tree/none.txt',
    ])
    expect(removed?.map((entry) => entry.name).sort()).toEqual(['tree/copy.txt', 'tree/moved.txt'])
  })

  test('opens by signed URLs', async () => {
    await bucket().upload('signed/a b.txt', 'signed')
    const { data: one } = await bucket().createSignedUrl('signed/a b.txt', 60, {
      download: 'c.txt',
    })
    const opened = await fetch(one?.signedUrl ?? '')
    expect(await opened.text()).toBe('signed')
    expect(opened.headers.get('content-disposition')).toContain('filename=c.txt')
    const { data: many } = await bucket().createSignedUrls(
      ['signed/a b.txt', 'signed/none.txt'],
      60,
    )
    expect(many?.map(({ error }) => error === null)).toEqual([true, false])
    expect((await fetch(many?.[0]?.signedUrl ?? '')).status).toBe(200)
    const { data: ticket } = await bucket().createSignedUploadUrl('signed/new.txt')
    const { data: stored, error } = await visitor()
      .storage.from(name)
      .uploadToSignedUrl('signed/new.txt', ticket?.token ?? '', 'by a visitor')
    expect(error).toBeNull()
    expect(stored?.path).toBe('signed/new.txt')
    expect(await (await bucket().download('signed/new.txt')).data?.text()).toBe('by a visitor')
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
    const { data: plain } = await bucket().info('kinds/text.txt')
    expect(plain?.contentEncoding).toBeNull()
  })

  test('takes media types in any case', async () => {
    const upper = await bucket().upload('upper.png', 'x', { contentType: 'IMAGE/PNG' })
    expect(upper.error).toBeNull()
  })

  test('has no analytics buckets', async () => {
    const { error } = await service().storage.analytics.listBuckets()
    expect(error).toMatchObject({ status: 404 })
  })

  test('is closed to others', async () => {
    const stranger = visitor().storage.from(name)
    expect((await stranger.upload('x.txt', 'x')).error).toMatchObject({ statusCode: '403' })
    await bucket().upload('secret.txt', 'secret')
    expect((await stranger.download('secret.txt')).error).not.toBeNull()
    expect((await stranger.list()).data).toEqual([])
    expect((await stranger.exists('secret.txt')).data).toBe(false)
    expect((await stranger.remove(['secret.txt'])).data).toEqual([])
    expect((await service().storage.purgeBucketCache(name)).data?.message).toBe('success')
    expect((await bucket().purgeCache('a?b/c.png', { transformations: true })).error).toBeNull()
    expect((await visitor().storage.purgeBucketCache(name)).error).toMatchObject({ status: 403 })
  })
})
