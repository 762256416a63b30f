import { crc32, deflateSync } from 'node:zlib'

import type { RawResponse } from '../../raw-response.ts'
import { group } from '../../case.ts'
import type { Context } from '../../context.ts'

import { form, noSuchKey, problem, service, store } from './setup.ts'

const guide = 'https://supabase.com/docs/guides/storage/serving/image-transformations'
const renderer = `${service}/storage/renderer/image.ts`
const schemas = `${service}/http/schemas/transformations.ts`

export const image = group('storage.image', {
  title: 'Pictures',
  source: guide,
  needs: ['service'],
  probe: async (t) => t.present(await t.get('render/image/public/conformance-none/a.png')),
})

/** Returns a PNG of 40 by 20 points, half red and half blue. */
function picture(): Uint8Array<ArrayBuffer> {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const header = Buffer.from([0, 0, 0, 40, 0, 0, 0, 20, 8, 2, 0, 0, 0])
  const half = (colour: number[]) => Array.from({ length: 20 }, () => colour).flat()
  const line = [0, ...half([255, 0, 0]), ...half([0, 0, 255])]
  const lines = Buffer.from(Array.from({ length: 20 }, () => line).flat())
  const mark = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
  const chunks = [chunk('IHDR', header), chunk('IDAT', deflateSync(lines))]
  return new Uint8Array(Buffer.concat([mark, ...chunks, chunk('IEND', Buffer.alloc(0))]))
}

/** Makes a bucket with the picture `a.png`. */
async function gallery(t: Context, attributes: Record<string, unknown> = {}): Promise<string> {
  const bucket = await t.bucket({ public: true, ...attributes })
  await store(t, bucket, 'a.png', form(picture(), 'image/png', { cacheControl: '60' }))
  return bucket
}

/** Checks that the response is a PNG of this size. */
function isPicture(t: Context, response: RawResponse, width: number, height: number): void {
  response.is(200).header('content-type', 'image/png')
  const bytes = Buffer.from(response.exchange.body)
  const isPng = bytes.subarray(1, 4).toString('latin1') === 'PNG' && bytes.length > 24 && bytes[0]
  const size = isPng === 0x89 ? [bytes.readUInt32BE(16), bytes.readUInt32BE(20)] : null
  t.equal(size, [width, height], response.exchange)
}

/** A query, the size of the picture that it leads to, and what is told to have been done. */
const sizes: [
  name: string,
  promise: string,
  anchor: string,
  query: string,
  size: readonly [number, number],
  done: RegExp,
][] = [
  [
    ...(['width', 'a width alone keeps the ratio', 'resizing', 'width=20'] as const),
    ...([[20, 10], /(^|,)width:20(,|$)/] as const),
  ],
  [
    ...(['height', 'a height alone keeps the ratio', 'resizing', 'height=5'] as const),
    ...([[10, 5], /(^|,)height:5(,|$)/] as const),
  ],
  [
    ...(['default', 'a picture is cropped to a size', 'modes', 'width=10&height=10'] as const),
    ...([[10, 10], /(^|,)resizing_type:fill(,|$)/] as const),
  ],
  [
    ...(['cover', 'cover crops', 'modes', 'width=10&height=10&resize=cover'] as const),
    ...([[10, 10], /(^|,)resizing_type:fill(,|$)/] as const),
  ],
  [
    ...(['contain', 'contain fits in', 'modes', 'width=10&height=10&resize=contain'] as const),
    ...([[10, 5], /(^|,)resizing_type:fit(,|$)/] as const),
  ],
  [
    ...(['fill', 'fill stretches', 'modes', 'width=10&height=10&resize=fill'] as const),
    ...([[10, 10], /(^|,)resizing_type:force(,|$)/] as const),
  ],
]

for (const [name, promise, anchor, query, [width, height], done] of sizes) {
  image.case(`size.${name}`, promise, { source: `${guide}#${anchor}` }, async (t) => {
    const bucket = await gallery(t)
    const response = await t.get(`render/image/public/${bucket}/a.png?${query}&format=origin`, {
      as: 'nobody',
    })
    response.header('x-transformations', done)
    isPicture(t, response, width, height)
  })
}

image.case(
  'url',
  'getPublicUrl with a transformation leads to the picture',
  { source: `${guide}#get-a-public-url-for-a-transformed-image` },
  async (t) => {
    const bucket = await gallery(t)
    const transform = { width: 20, format: 'origin' } as const
    const { data } = t.anon.storage.from(bucket).getPublicUrl('a.png', { transform })
    isPicture(t, await t.get(data.publicUrl, { as: 'nobody' }), 20, 10)
  },
)

image.case(
  'client',
  'a download with a transformation gives the picture',
  { source: `${guide}#downloading-images` },
  async (t) => {
    const bucket = await gallery(t, { public: false })
    const transform = { width: 20, format: 'origin' } as const
    const { error } = await t.service.storage.from(bucket).download('a.png', { transform })
    t.ok({ error })
    isPicture(t, t.response(), 20, 10)
  },
)

const signing = `${guide}#signing-urls-with-transformation-options`

image.case(
  'signed',
  'a signed URL has its transformation in the token, and no other',
  { source: signing },
  async (t) => {
    const bucket = await gallery(t, { public: false })
    const { data, error } = await t.service.storage.from(bucket).createSignedUrl('a.png', 60, {
      transform: { width: 20, height: 20, resize: 'contain', format: 'origin' },
    })
    t.ok({ error })
    const url = `${data?.signedUrl ?? ''}&width=4&height=4`
    isPicture(t, await t.get(url, { as: 'nobody' }), 20, 10)
  },
)

image.case(
  'signed.plain',
  'the token of a plain signed URL does not serve for a picture of another path',
  { source: signing },
  async (t) => {
    const bucket = await gallery(t, { public: false })
    const path = `/storage/v1/object/sign/${bucket}/a.png`
    const response = await t.prepare('POST', path, { expiresIn: 60, transform: { width: 4 } })
    const token = new URL(String(response.signedURL), 'http://x').searchParams.get('token') ?? ''
    await t
      .get(`render/image/sign/${bucket}/b.png?token=${token}`, { as: 'nobody' })
      .is(400, problem(400, 'InvalidSignature', 'Invalid signature'))
  },
)

image.case(
  'format.webp',
  'who accepts WebP is given it',
  { source: `${guide}#automatic-image-optimization-webp` },
  async (t) => {
    const bucket = await gallery(t)
    const response = await t.get(`render/image/public/${bucket}/a.png?width=20`, {
      ...{ as: 'nobody', accept: 'image/webp,*/*;q=0.8' },
    })
    response.is(200).header('content-type', 'image/webp')
    const mark = Buffer.from(response.exchange.body.subarray(0, 4)).toString('latin1')
    t.equal(mark, 'RIFF', response.exchange)
  },
)

image.case('format.asked', 'a format is asked for', { source: schemas }, async (t) => {
  const bucket = await gallery(t)
  await t
    .get(`render/image/public/${bucket}/a.png?width=20&format=webp`, { as: 'nobody' })
    .is(200)
    .header('content-type', 'image/webp')
    .header('x-transformations', /(^|,)format:webp(,|$)/)
})

image.case('quality', 'a quality is asked for', { source: `${guide}#optimizing` }, async (t) => {
  const bucket = await gallery(t)
  await t
    .get(`render/image/public/${bucket}/a.png?quality=50&format=origin`, { as: 'nobody' })
    .is(200)
    .header('x-transformations', /(^|,)quality:50(,|$)/)
})

image.case(
  'headers',
  'a picture is cached as its object is, and may be an attachment',
  { source: `${service}/storage/renderer/renderer.ts` },
  async (t) => {
    const bucket = await gallery(t)
    const query = 'width=20&format=origin&download=b.png'
    await t
      .get(`render/image/public/${bucket}/a.png?${query}`, { as: 'nobody' })
      .is(200)
      .header('cache-control', 'max-age=60')
      .header('content-disposition', /^attachment;.*filename=b\.png/)
  },
)

/** Queries that are refused, with the message. */
const wrong: [name: string, promise: string, query: string, message: RegExp][] = [
  ['width', 'a width is not negative', 'width=-1', /^querystring\/width must be >= 0$/],
  ['height', 'a height is a number', 'height=high', /^querystring\/height must be integer$/],
  ['quality.low', 'a quality is at least 20', 'quality=19', /^querystring\/quality must be >= 20$/],
  [
    ...(['quality.high', 'a quality is at most 100', 'quality=101'] as const),
    /^querystring\/quality must be <= 100$/,
  ],
  [
    'resize',
    'a mode is a known one',
    'resize=crop',
    /^querystring\/resize must be equal to one of/,
  ],
  [
    'format',
    'a format is a known one',
    'format=bmp',
    /^querystring\/format must be equal to one of/,
  ],
]

for (const [name, promise, query, message] of wrong) {
  image.case(`wrong.${name}`, promise, { source: schemas }, async (t) => {
    await t
      .get(`render/image/public/${await gallery(t)}/a.png?${query}`, { as: 'nobody' })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  })
}

image.case('text', 'what is no picture is refused', { source: renderer }, async (t) => {
  const bucket = await t.bucket({ public: true })
  await store(t, bucket, 'a.png', form('no picture', 'image/png'))
  await t
    .get(`render/image/public/${bucket}/a.png?width=20`, { as: 'nobody' })
    .has(400, { message: 'The source image is invalid or unsupported for rendering' })
})

image.case(
  'missing',
  'a picture that is not there is not found',
  { source: renderer },
  async (t) => {
    await t
      .get(`render/image/public/${await gallery(t)}/b.png?width=20`, { as: 'nobody' })
      .is(400, noSuchKey)
  },
)

image.case(
  'private',
  'a picture of a private bucket is given to whoever may read it',
  { source: `${service}/http/routes/render/renderAuthenticatedImage.ts` },
  async (t) => {
    const bucket = await gallery(t, { public: false })
    const query = 'a.png?width=20&format=origin'
    await t
      .get(`render/image/authenticated/${bucket}/${query}`, { as: await t.user() })
      .is(400, noSuchKey)
    const path = `render/image/authenticated/${bucket}/${query}`
    isPicture(t, await t.get(path, { as: 'service' }), 20, 10)
  },
)
