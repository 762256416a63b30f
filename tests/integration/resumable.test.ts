import { randomBytes, randomUUID } from 'node:crypto'

import { Upload } from 'tus-js-client'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { service, visitor } from './clients.ts'

const name = randomUUID()
const bytes = randomBytes(5_000_000)

beforeAll(async () => {
  expect((await service().storage.createBucket(name, { public: true })).error).toBeNull()
})

afterAll(async () => {
  await service().storage.emptyBucket(name)
  await service().storage.deleteBucket(name)
})

interface UploadOptions {
  headers: Record<string, string>
  path?: string
  /** Ends the upload once so many bytes are through. */
  stopAt?: number
}

/** Uploads `bytes` as supabase.com/docs shows it; returns the URL at which the upload can be continued. */
async function upload(
  objectName: string,
  { headers, path = 'upload/resumable', stopAt = Infinity }: UploadOptions,
  previous?: string,
): Promise<string> {
  return await new Promise<string>((resolve, reject) => {
    const upload = new Upload(bytes, {
      endpoint: `${inject('access').url}/storage/v1/${path}`,
      uploadUrl: previous ?? null,
      retryDelays: null,
      headers,
      chunkSize: 2_000_000,
      metadata: { bucketName: name, objectName, contentType: 'image/png', cacheControl: '60' },
      onError: reject,
      onSuccess: () => resolve(upload.url ?? ''),
      onChunkComplete: (_size, accepted) => {
        if (accepted >= stopAt) void upload.abort().then(() => resolve(upload.url ?? ''))
      },
    })
    upload.start()
  })
}

async function expectStored(objectName: string) {
  const { data } = visitor().storage.from(name).getPublicUrl(objectName)
  const response = await fetch(data.publicUrl)
  expect(response.headers.get('content-type')).toBe('image/png')
  expect(response.headers.get('cache-control')).toBe('max-age=60')
  expect(Buffer.from(await response.arrayBuffer()).equals(bytes)).toBe(true)
}

test('an interrupted upload is continued', async () => {
  const headers = { authorization: `Bearer ${inject('access').serviceKey}`, 'x-upsert': 'true' }
  const url = await upload('left.png', { headers, stopAt: 2_000_000 })
  expect((await service().storage.from(name).exists('left.png')).data).toBe(false)
  const head = await fetch(url, {
    method: 'HEAD',
    headers: { ...headers, 'tus-resumable': '1.0.0' },
  })
  expect(Number(head.headers.get('upload-offset'))).toBeGreaterThanOrEqual(2_000_000)
  await upload('left.png', { headers }, url)
  await expectStored('left.png')
})

test('a signed URL is enough', async () => {
  const { data } = await service().storage.from(name).createSignedUploadUrl('signed.png')
  const headers = { 'x-signature': data?.token ?? '' }
  await upload('signed.png', { headers, path: 'upload/resumable/sign' })
  await expectStored('signed.png')
})

test('an upload without the right to it is refused', async () => {
  const headers = { authorization: `Bearer ${inject('access').anonKey}` }
  await expect(upload('refused.png', { headers })).rejects.toThrow(/403.*row-level security/)
})
