import { group } from '../../case.ts'
import { partly } from '../../match.ts'

import { bucketOf, errorCodes, form, noSuchBucket, noSuchKey } from './setup.ts'
import { problem, service, store } from './setup.ts'

const serving = 'https://supabase.com/docs/guides/storage/serving/downloads'
const renderer = `${service}/storage/renderer/renderer.ts`
const range = `${service}/storage/range.ts`
const digits = '0123456789'

export const download = group('storage.download', {
  title: 'Downloads',
  source: serving,
  needs: ['service'],
})

download.case(
  'client',
  'the client library downloads a Blob of the type of the object',
  { source: 'https://supabase.com/docs/reference/javascript/storage-from-download' },
  async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a b.csv', form('a,b', 'text/csv'))
    const { data, error } = await t.service.storage.from(bucket).download('a b.csv')
    const text = await data?.text()
    t.data({ data: text, error }, 'a,b')
    t.response().header('content-type', /^text\/csv/)
  },
)

download.case(
  'client.missing',
  'the client library hands on that there is no object',
  { source: 'https://supabase.com/docs/reference/javascript/storage-from-download' },
  async (t) => {
    const files = t.service.storage.from(await t.bucket())
    t.error(
      await files.download('a.txt'),
      partly({ status: 400, statusCode: '404', message: 'Object not found' }),
    )
  },
)

download.case(
  'missing',
  'an object that is not there is not found',
  { source: errorCodes },
  async (t) => {
    await t.get(`object/${await t.bucket()}/a.txt`, { as: 'service' }).is(400, noSuchKey)
  },
)

download.case(
  'bucket.missing',
  'a bucket that is not there is not found',
  { source: errorCodes },
  (t) => t.get(`object/${t.unique('none')}/a.txt`, { as: 'service' }).is(400, noSuchBucket),
)

download.case(
  'authenticated',
  'a private object is given at object/authenticated to whoever may read it',
  { source: `${serving}#private-buckets` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    await t.get(`object/authenticated/${bucket}/a.txt`, { as: 'service' }).text(200, 'conformance')
  },
)

download.case(
  'authenticated.nobody',
  'object/authenticated needs a token, even for a public bucket',
  { source: `${service}/http/routes/object/getObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'], { public: true })
    const message = "headers must have required property 'authorization'"
    await t
      .get(`object/authenticated/${bucket}/a.txt`, { as: 'nobody' })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  },
)

download.case(
  'private.nobody',
  'a private bucket is not found without a token',
  { source: `${service}/http/routes/object/getObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    await t.get(`object/${bucket}/a.txt`, { as: 'nobody' }).is(400, noSuchBucket)
  },
)

download.case(
  'private.public-route',
  'a private bucket has no public URLs',
  { source: `${serving}#private-buckets` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    await t.get(`object/public/${bucket}/a.txt`, { as: 'service' }).is(400, noSuchBucket)
  },
)

download.case(
  'public.nobody',
  'an object of a public bucket is given without a token on the plain path, too',
  { source: `${service}/http/routes/object/getObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'], { public: true })
    await t.get(`object/${bucket}/a.txt`, { as: 'nobody' }).text(200, 'conformance')
  },
)

download.case(
  'public.policy',
  'no policy is asked for an object of a public bucket',
  { source: 'https://supabase.com/docs/guides/storage/buckets/fundamentals' },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'], { public: true })
    await t.get(`object/${bucket}/a.txt`, { as: await t.user() }).text(200, 'conformance')
  },
)

download.case(
  'public.url',
  'getPublicUrl leads to an object with blanks in its name',
  { source: 'https://supabase.com/docs/reference/javascript/storage-from-getpublicurl' },
  async (t) => {
    const bucket = await bucketOf(t, ['my folder/a b.txt'], { public: true })
    const { data } = t.anon.storage.from(bucket).getPublicUrl('my folder/a b.txt')
    await t.get(data.publicUrl, { as: 'nobody' }).text(200, 'conformance')
  },
)

download.case(
  'public.url.download',
  'getPublicUrl with a name to download leads to an attachment of that name',
  { source: `${serving}#downloading` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'], { public: true })
    const { data } = t.anon.storage.from(bucket).getPublicUrl('a.txt', { download: 'mine.txt' })
    await t
      .get(data.publicUrl, { as: 'nobody' })
      .text(200, 'conformance')
      .header('content-disposition', /^attachment;.*filename=mine\.txt/)
  },
)

download.case(
  'headers',
  'a download tells of the object in its headers',
  { source: renderer },
  async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a', form(digits, 'text/csv', { cacheControl: '60' }))
    await t
      .get(`object/${bucket}/a`, { as: 'service' })
      .text(200, digits)
      .header('content-type', /^text\/csv/)
      .header('content-length', '10')
      .header('cache-control', 'max-age=60')
      .header('accept-ranges', 'bytes')
      .header('etag', /^"[^"]+"$/)
      .header('last-modified', /^\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT$/)
      .header('x-robots-tag', 'none')
  },
)

download.case('html', 'HTML is given as plain text', { source: renderer }, async (t) => {
  const bucket = await t.bucket()
  await store(t, bucket, 'a.html', form('<p>a</p>', 'text/html'))
  await t
    .get(`object/${bucket}/a.html`, { as: 'service' })
    .text(200, '<p>a</p>')
    .header('content-type', /^text\/plain/)
  await t
    .get(`object/info/${bucket}/a.html`, { as: 'service' })
    .has(200, { content_type: 'text/html' })
})

/** A query, and the header Content-Disposition that it leads to. */
const dispositions: [
  name: string,
  promise: string,
  query: string,
  header: string | RegExp | null,
][] = [
  ['none', 'without ?download there is no disposition', '?v=1', null],
  ['bare', '?download makes an attachment', '?download', /^attachment;?$/],
  [
    ...(['named', '?download=name makes an attachment of that name', '?download=b.txt'] as const),
    "attachment; filename=b.txt; filename*=UTF-8''b.txt",
  ],
  [
    ...([
      'unicode',
      'a name to download is encoded',
      `?download=${encodeURIComponent('ä b.txt')}`,
    ] as const),
    "attachment; filename=%C3%A4%20b.txt; filename*=UTF-8''%C3%A4%20b.txt",
  ],
]

for (const [name, promise, query, header] of dispositions) {
  download.case(`disposition.${name}`, promise, { source: `${serving}#downloading` }, async (t) => {
    const bucket = await bucketOf(t, ['a.txt'], { public: true })
    await t
      .get(`object/public/${bucket}/a.txt${query}`, { as: 'nobody' })
      .text(200, 'conformance')
      .header('content-disposition', header)
  })
}

/** A range of ten digits, what is given of it, and where that lies. */
const ranges: [name: string, promise: string, asked: string, part: string, place: string][] = [
  ['closed', 'a range has a first and a last byte', '2-4', '234', '2-4'],
  ['open', 'a range without a last byte goes to the end', '7-', '789', '7-9'],
  ['suffix', 'a range without a first byte is the end', '-3', '789', '7-9'],
  ['clamped', 'a last byte behind the end is the end', '8-99', '89', '8-9'],
  ['suffix.long', 'an end that is longer than the object is all of it', '-99', digits, '0-9'],
]

for (const [name, promise, header, part, place] of ranges) {
  download.case(`range.${name}`, promise, { source: range }, async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a.txt', digits)
    await t
      .get(`object/${bucket}/a.txt`, { as: 'service', headers: { range: `bytes=${header}` } })
      .text(206, part)
      .header('content-range', `bytes ${place}/10`)
      .header('content-length', String(part.length))
  })
}

/** A range that cannot be given. */
const wrongRanges: [name: string, promise: string, asked: string][] = [
  ['behind', 'a range that begins behind the end is refused', 'bytes=10-12'],
  ['nothing', 'the last 0 bytes are refused', 'bytes=-0'],
]

/** What RFC 9110, section 14.2, lets a server ignore, and what Supabase's Storage refuses. */
const ignoredRanges: [name: string, promise: string, asked: string][] = [
  ['unit', 'a range of another unit is refused or ignored', 'lines=0-1'],
  ['several', 'several ranges are refused or ignored', 'bytes=0-1,3-4'],
]

for (const [name, promise, header] of wrongRanges) {
  download.case(`range.wrong.${name}`, promise, { source: range }, async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a.txt', digits)
    await t
      .get(`object/${bucket}/a.txt`, { as: 'service', headers: { range: header } })
      .is(416, problem(416, 'invalid_range', 'invalid range provided', 'InvalidRange'))
  })
}

for (const [name, promise, header] of ignoredRanges) {
  download.case(`range.wrong.${name}`, promise, { source: range }, async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a.txt', digits)
    await t
      .get(`object/${bucket}/a.txt`, { as: 'service', headers: { range: header } })
      .is([200, 416])
  })
}

download.case(
  'condition.etag',
  'what has the ETag of If-None-Match is not sent again',
  { source: renderer },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const path = `object/${bucket}/a.txt`
    const first = await t.get(path, { as: 'service' })
    await t
      .get(path, { as: 'service', headers: { 'if-none-match': first.headerValue('etag') } })
      .empty(304)
  },
)

download.case(
  'condition.etag.other',
  'another ETag in If-None-Match gives the object, and lets caches revalidate',
  { source: renderer },
  async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a.txt', form('abc', 'text/plain', { cacheControl: '60' }))
    await t
      .get(`object/${bucket}/a.txt`, { as: 'service', headers: { 'if-none-match': '"other"' } })
      .text(200, 'abc')
      .header('cache-control', /^max-age=60, (s-maxage=\d+, )?stale-while-revalidate=30$/)
  },
)

download.case(
  'condition.time',
  'what was not modified since the time of If-Modified-Since is not sent again',
  { source: `${service}/storage/backend/file.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const at = (offset: number) => ({
      'if-modified-since': new Date(Date.now() + offset).toUTCString(),
    })
    const path = `object/${bucket}/a.txt`
    await t.get(path, { as: 'service', headers: at(-3_600_000) }).text(200, 'conformance')
    await t.get(path, { as: 'service', headers: at(3_600_000) }).empty(304)
  },
)

download.case(
  'condition.range',
  'a condition goes before a range',
  { source: renderer },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const path = `object/${bucket}/a.txt`
    const first = await t.get(path, { as: 'service' })
    const headers = { range: 'bytes=0-1', 'if-none-match': first.headerValue('etag') }
    await t.get(path, { as: 'service', headers }).empty(304)
  },
)

download.case(
  'head',
  'HEAD has the headers of the download',
  { source: `${service}/storage/renderer/head.ts` },
  async (t) => {
    const bucket = await t.bucket({ public: true })
    await store(t, bucket, 'a', form(digits, 'text/csv', { cacheControl: '60' }))
    for (const [path, as] of [
      [`object/${bucket}/a`, 'service'],
      [`object/authenticated/${bucket}/a`, 'service'],
      [`object/public/${bucket}/a`, 'nobody'],
    ] as const) {
      await t
        .head(path, { as })
        .empty(200)
        .header('content-type', /^text\/csv/)
        .header('content-length', '10')
        .header('cache-control', 'max-age=60')
        .header('etag', /^"[^"]+"$/)
    }
  },
)

download.case(
  'head.range',
  'HEAD looks at no range',
  { source: `${service}/storage/renderer/head.ts` },
  async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a', digits)
    await t
      .head(`object/${bucket}/a`, { as: 'service', headers: { range: 'bytes=0-1' } })
      .empty(200)
      .header('content-length', '10')
      .header('content-range', null)
  },
)

download.case(
  'head.missing',
  'HEAD of an object that is not there is a refusal',
  { source: `${service}/http/error-handler.ts` },
  async (t) => {
    await t.head(`object/${await t.bucket()}/a`, { as: 'service' }).empty(400)
  },
)
