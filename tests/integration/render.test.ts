import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { service, visitor } from './clients.ts'

/** A picture of 1600 by 900 pixels. */
const PICTURE = path.join(import.meta.dirname, '../../storage/blog-images/Beyond-Ads.png')

/** Returns the name of an image's format, and its width and height as they are in the heads of PNG and lossy WebP. */
async function measured(blob: Blob | null) {
  const bytes = Buffer.from((await blob?.arrayBuffer()) ?? new ArrayBuffer(0))
  if (bytes.toString('latin1', 1, 4) === 'PNG')
    return ['png', bytes.readUInt32BE(16), bytes.readUInt32BE(20)]
  if (bytes.toString('latin1', 8, 16) === 'WEBPVP8 ')
    return ['webp', bytes.readUInt16LE(26), bytes.readUInt16LE(28)]
  return [bytes.toString('latin1', 4, 12)]
}

async function opened(url: string, accept = '*/*') {
  const answer = await fetch(url, { headers: { accept } })
  expect(answer.status, answer.statusText).toBe(200)
  return answer
}

describe('pictures', () => {
  const name = `pictures-${randomUUID()}`
  const bucket = () => service().storage.from(name)

  beforeAll(async () => {
    await service().storage.createBucket(name, { public: true })
    const { error } = await bucket().upload('team/first eleven.png', await readFile(PICTURE), {
      contentType: 'image/png',
    })
    expect(error).toBeNull()
    await bucket().upload('team/mark.svg', '<svg xmlns="http://www.w3.org/2000/svg"/>', {
      contentType: 'image/svg+xml',
    })
  })

  afterAll(async () => {
    await service().storage.emptyBucket(name)
    await service().storage.deleteBucket(name)
  })

  test('have public URLs in every size', async () => {
    const url = (transform: object) =>
      visitor().storage.from(name).getPublicUrl('team/first eleven.png', { transform }).data
        .publicUrl
    const small = await opened(url({ width: 160 }))
    expect(small.headers.get('content-type')).toBe('image/png')
    expect(await measured(await small.blob())).toEqual(['png', 160, 90])
    const square = await opened(url({ width: 100, height: 100, quality: 60 }), 'image/webp')
    expect(square.headers.get('x-transformations')).toBe(
      'height:100,width:100,resizing_type:fill,quality:60',
    )
    expect(square.headers.get('vary')).toContain('Accept')
    expect(await measured(await square.blob())).toEqual(['webp', 100, 100])
    const second = await fetch(url({ width: 160 }), {
      headers: { 'if-none-match': small.headers.get('etag') ?? '' },
    })
    expect(second.status).toBe(304)
    const avif = await opened(url({ width: 32 }), 'image/avif')
    expect(await measured(await avif.blob())).toEqual(['ftypavif'])
  })

  test('are downloaded in another size', async () => {
    const { data, error } = await bucket().download('team/first eleven.png', {
      transform: { width: 80, height: 80, resize: 'contain', format: 'origin' },
    })
    expect(error).toBeNull()
    expect(await measured(data)).toEqual(['png', 80, 45])
    const { error: refusal } = await bucket().download('team/mark.svg', {
      transform: { width: 80 },
    })
    expect(refusal).toMatchObject({
      status: 400,
      statusCode: '400',
      message: 'The source image is invalid or unsupported for rendering',
    })
    const { error: hidden } = await bucket().download('team/none.png', { transform: { width: 80 } })
    expect(hidden?.message).toBe('Object not found')
  })

  test('have signed URLs that say their size', async () => {
    const { data, error } = await bucket().createSignedUrl('team/first eleven.png', 60, {
      transform: { width: 120, height: 120, resize: 'fill' },
      download: 'eleven.png',
    })
    expect(error).toBeNull()
    expect(data?.signedUrl).toContain(`/render/image/sign/${name}/`)
    const answer = await opened(`${data?.signedUrl ?? ''}&width=1000`)
    expect(answer.headers.get('expires')).not.toBeNull()
    expect(answer.headers.get('content-disposition')).toContain('filename=eleven.png')
    expect(await measured(await answer.blob())).toEqual(['png', 120, 120])
  })
})
