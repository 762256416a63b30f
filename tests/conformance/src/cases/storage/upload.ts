import { randomBytes } from 'node:crypto'

import { group } from '../../case.ts'
import { kind, partly, some } from '../../match.ts'

import { bytes, errorCodes, form, noSuchBucket, noSuchKey, problem, service } from './setup.ts'
import { bucketOf, store } from './setup.ts'

const uploads = 'https://supabase.com/docs/guides/storage/uploads/standard-uploads'
const reference = 'https://supabase.com/docs/reference/javascript/storage-from-upload'
const uploader = `${service}/storage/uploader.ts`
const text = bytes('conformance')

export const upload = group('storage.upload', {
  title: 'Uploads',
  source: uploads,
  needs: ['service'],
})

upload.case(
  'raw',
  'the response to an upload names the object and its id',
  { source: `${service}/http/routes/object/createObject.ts` },
  async (t) => {
    const bucket = await t.bucket()
    await t
      .post(`object/${bucket}/a/b.txt`, text, { as: 'service' })
      .is(200, { Key: `${bucket}/a/b.txt`, Id: some.uuid })
  },
)

upload.case('bytes', 'any bytes come back as they were sent', async (t) => {
  const bucket = await t.bucket()
  const sent = new Uint8Array([...randomBytes(70_000), 0, 13, 10, 0xff])
  const files = t.service.storage.from(bucket)
  t.ok(await files.upload('a.bin', sent, { contentType: 'application/octet-stream' }))
  await t.get(`object/${bucket}/a.bin`, { as: 'service' }).bytes(200, sent)
})

upload.case('empty', 'an object may be empty', { source: reference }, async (t) => {
  const bucket = await t.bucket()
  const files = t.service.storage.from(bucket)
  t.ok(await files.upload('a.txt', new Uint8Array()))
  t.data(await files.info('a.txt'), partly({ size: 0 }))
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).empty(200)
})

/** A body as the client library takes it, and the content type that is kept. */
const bodies: [name: string, promise: string, body: () => FormData | Blob | Buffer | string][] = [
  ['blob', 'a Blob is uploaded with its type', () => new Blob(['a,b'], { type: 'text/csv' })],
  ['form', 'a form is uploaded with the type of its file', () => form('a,b', 'text/csv')],
  ['buffer', 'a Buffer is uploaded with the type of the option', () => Buffer.from('a,b')],
  ['text', 'a text is uploaded with the type of the option', () => 'a,b'],
]

for (const [name, promise, body] of bodies) {
  upload.case(`client.${name}`, promise, { source: reference }, async (t) => {
    const bucket = await t.bucket()
    const files = t.service.storage.from(bucket)
    t.data(await files.upload('a.csv', body(), { contentType: 'text/csv' }), {
      ...{ id: some.uuid, path: 'a.csv', fullPath: `${bucket}/a.csv` },
    })
    await t
      .get(`object/${bucket}/a.csv`, { as: 'service' })
      .text(200, 'a,b')
      .header('content-type', /^text\/csv/)
  })
}

upload.case(
  'type.none',
  'what is sent without a type is application/octet-stream',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    await t.post(`object/${bucket}/a`, text, { as: 'service' }).is(200)
    await t
      .get(`object/${bucket}/a`, { as: 'service' })
      .is(200)
      .header('content-type', 'application/octet-stream')
  },
)

upload.case(
  'type.field',
  'the field contentType of a form goes before the type of its file',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    const body = form('{}', 'text/plain', { contentType: 'application/json' })
    await t.post(`object/${bucket}/a`, body, { as: 'service' }).is(200)
    await t
      .get(`object/info/${bucket}/a`, { as: 'service' })
      .has(200, { content_type: 'application/json' })
  },
)

upload.case(
  'cache.client',
  'the option cacheControl is the seconds of max-age',
  { source: 'https://supabase.com/docs/guides/storage/cdn/smart-cdn' },
  async (t) => {
    const bucket = await t.bucket()
    const files = t.service.storage.from(bucket)
    t.ok(await files.upload('a', text, { cacheControl: '60' }))
    t.data(await files.info('a'), partly({ cacheControl: 'max-age=60' }))
    t.ok(await files.upload('b', new Blob(['b']), { cacheControl: '61' }))
    t.data(await files.info('b'), partly({ cacheControl: 'max-age=61' }))
  },
)

upload.case(
  'cache.raw',
  'the header Cache-Control of an upload is kept as it is',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
    await t.post(`object/${bucket}/a`, text, { as: 'service', headers }).is(200)
    await t
      .get(`object/info/${bucket}/a`, { as: 'service' })
      .has(200, { cache_control: headers['cache-control'] })
  },
)

upload.case(
  'cache.none',
  'without a Cache-Control an object is not cached',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    await t.post(`object/${bucket}/a`, form('a', 'text/plain'), { as: 'service' }).is(200)
    await t
      .get(`object/info/${bucket}/a`, { as: 'service' })
      .has(200, { cache_control: 'no-cache' })
  },
)

const wished = { colour: 'blue', size: { width: 3 }, list: [1, true, null] }

upload.case(
  'metadata.client',
  "a user's metadata come back with the object's information",
  { source: reference },
  async (t) => {
    const bucket = await t.bucket()
    const files = t.service.storage.from(bucket)
    t.ok(await files.upload('a', text, { metadata: wished }))
    t.data(await files.info('a'), partly({ metadata: wished }))
    t.ok(await files.upload('b', new Blob(['b']), { metadata: wished }))
    t.data(await files.info('b'), partly({ metadata: wished }))
  },
)

upload.case(
  'metadata.header',
  'the header x-metadata is a base64 JSON object',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    const headers = { 'x-metadata': Buffer.from(JSON.stringify(wished)).toString('base64') }
    await t.post(`object/${bucket}/a`, text, { as: 'service', headers }).is(200)
    await t.get(`object/info/${bucket}/a`, { as: 'service' }).has(200, { metadata: wished })
  },
)

upload.case(
  'metadata.field',
  'the field userMetadata of a form is a JSON object',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    const body = form('a', 'text/plain', { userMetadata: JSON.stringify(wished) })
    await t.post(`object/${bucket}/a`, body, { as: 'service' }).is(200)
    await t.get(`object/info/${bucket}/a`, { as: 'service' }).has(200, { metadata: wished })
  },
)

upload.case(
  'metadata.broken',
  'metadata that cannot be decoded are left out',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket()
    const headers = { 'x-metadata': 'bm8ganNvbg==' }
    await t.post(`object/${bucket}/a`, text, { as: 'service', headers }).is(200)
    await t.get(`object/info/${bucket}/a`, { as: 'service' }).has(200, { metadata: {} })
  },
)

upload.case('form.empty', 'a form without a file is refused', { source: uploader }, async (t) => {
  const body = new FormData()
  body.append('cacheControl', '60')
  await t
    .post(`object/${await t.bucket()}/a`, body, { as: 'service' })
    .has(400, { statusCode: '400', code: 'InvalidRequest' })
})

upload.case('upsert', 'an upload with upsert replaces the object', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const files = t.service.storage.from(bucket)
  const options = { upsert: true, contentType: 'text/css' }
  t.ok(await files.upload('a.txt', text.slice(0, 4), options))
  await t
    .get(`object/${bucket}/a.txt`, { as: 'service' })
    .text(200, 'conf')
    .header('content-type', /^text\/css/)
})

upload.case('upsert.header', 'x-upsert: true replaces, and keeps the id', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const options = { as: 'service', headers: { 'x-upsert': 'true' } } as const
  const before = await t.prepare('POST', `/storage/v1/object/list/${bucket}`, { prefix: '' })
  const [{ id } = {}] = before as unknown as { id?: string }[]
  await t
    .post(`object/${bucket}/a.txt`, bytes('second'), options)
    .is(200, { Key: `${bucket}/a.txt`, Id: id })
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).text(200, 'second')
})

upload.case(
  'upsert.client',
  'without upsert the client library hands on the refusal',
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    t.error(
      await t.service.storage.from(bucket).upload('a.txt', text),
      partly({ status: 400, statusCode: '409', message: 'The resource already exists' }),
    )
  },
)

upload.case(
  'replace',
  'update replaces an object, and keeps its id and the time of its creation',
  { source: 'https://supabase.com/docs/reference/javascript/storage-from-update' },
  async (t) => {
    const bucket = await t.bucket()
    const files = t.service.storage.from(bucket)
    t.ok(await files.upload('a.txt', text, { metadata: { first: true } }))
    const before = await files.info('a.txt')
    t.data(await files.update('a.txt', 'second', { contentType: 'text/plain' }), {
      ...{ id: before.data?.id, path: 'a.txt', fullPath: `${bucket}/a.txt` },
    })
    t.data(
      await files.info('a.txt'),
      partly({ id: before.data?.id, createdAt: before.data?.createdAt, size: 6, metadata: {} }),
    )
    await t.get(`object/${bucket}/a.txt`, { as: 'service' }).text(200, 'second')
  },
)

upload.case(
  'replace.missing',
  'PUT makes an object that is not there',
  { source: `${service}/http/routes/object/updateObject.ts` },
  async (t) => {
    const bucket = await t.bucket()
    await t
      .put(`object/${bucket}/a.txt`, text, { as: 'service' })
      .is(200, { Key: `${bucket}/a.txt`, Id: some.uuid })
    await t.get(`object/${bucket}/a.txt`, { as: 'service' }).bytes(200, text)
  },
)

upload.case(
  'bucket.missing',
  'an upload to a bucket that is not there is refused',
  { source: errorCodes },
  (t) => t.post(`object/${t.unique('none')}/a.txt`, text, { as: 'service' }).is(400, noSuchBucket),
)

/** Names that objects may have. */
const names: [name: string, promise: string, path: string][] = [
  ['blanks', 'a name may have blanks', 'my folder/my file.txt'],
  ['marks', 'a name may have marks that are safe in S3', "a!-_.*'().txt"],
  ['reserved', 'a name may have the reserved characters of the rule', 'a&$@=;:+,?.txt'],
  ['deep', 'a name may have many folders', 'a/b/c/d/e/f/g/h/i/j.txt'],
  ['slashes', 'two slashes stay two slashes', 'a//b.txt'],
]

for (const [name, promise, path] of names) {
  upload.case(`name.${name}`, promise, { source: `${service}/storage/limits.ts` }, async (t) => {
    const bucket = await t.bucket()
    const url = path.split('/').map(encodeURIComponent).join('/')
    await t
      .post(`object/${bucket}/${url}`, text, { as: 'service' })
      .is(200, { Key: `${bucket}/${path}`, Id: some.uuid })
    await t.get(`object/${bucket}/${url}`, { as: 'service' }).bytes(200, text)
    await t.post(`object/list-v2/${bucket}`, {}, { as: 'service' }).has(200, {
      objects: [partly({ name: path })],
    })
  })
}

/** Names that objects may not have. */
const wrongNames: [name: string, promise: string, path: string][] = [
  ['percent', 'a percent sign in a name is refused', 'a%41.txt'],
  ['hash', 'a hash in a name is refused', 'a#b.txt'],
  ['brackets', 'brackets in a name are refused', 'a[1].txt'],
  ['braces', 'braces in a name are refused', 'a{1}.txt'],
  ['quotes', 'double quotes in a name are refused', 'a"b".txt'],
  ['tilde', 'a tilde in a name is refused', '~a.txt'],
  ['pipe', 'a vertical bar in a name is refused', 'a|b.txt'],
  ['angles', 'angle brackets in a name are refused', 'a<b>.txt'],
  ['latin', 'letters with accents in a name are refused', 'é.txt'],
  ['emoji', 'characters beyond the basic plane in a name are refused', '😀.txt'],
  ['control', 'control characters in a name are refused', 'a\tb.txt'],
]

for (const [name, promise, path] of wrongNames) {
  upload.case(`name.wrong.${name}`, promise, { source: errorCodes }, async (t) => {
    await t
      .post(`object/${await t.bucket()}/${encodeURIComponent(path)}`, text, { as: 'service' })
      .is(400, problem(400, 'InvalidKey', `Invalid key: ${path}`))
  })
}

const fileLimits = 'https://supabase.com/docs/guides/storage/uploads/file-limits'
const tooLarge = problem(
  413,
  'Payload too large',
  'The object exceeded the maximum allowed size',
  'EntityTooLarge',
)

upload.case(
  'size',
  "an upload of the bucket's size limit is taken, and a larger one refused",
  { source: fileLimits },
  async (t) => {
    const bucket = await t.bucket({ file_size_limit: 10 })
    const path = `object/${bucket}/a.txt`
    await t.post(path, text, { as: 'service' }).is(400, tooLarge)
    await t.get(path, { as: 'service' }).is(400, noSuchKey)
    await t.post(path, text.slice(0, 10), { as: 'service' }).is(200)
  },
)

upload.case('size.form', 'the file of a form is measured', { source: fileLimits }, async (t) => {
  const bucket = await t.bucket({ file_size_limit: 10 })
  const path = `object/${bucket}/a.txt`
  await t.post(path, form(text, 'text/plain'), { as: 'service' }).is(400, tooLarge)
  await t.get(path, { as: 'service' }).is(400, noSuchKey)
  await t.post(path, form(text.slice(0, 10), 'text/plain'), { as: 'service' }).is(200)
})

const restricted = `https://supabase.com/docs/guides/storage/buckets/creating-buckets#restricting-uploads`

/** Types that a bucket allows, the type of an upload, and whether it is taken. */
const types: [name: string, promise: string, allowed: string[], type: string, taken: boolean][] = [
  ['exact', 'a type of the list is taken', ['image/png', 'text/csv'], 'text/csv', true],
  ['wildcard', 'a subtype * takes all of the type', ['image/*'], 'image/avif', true],
  ['other', 'a type that is not in the list is refused', ['image/*'], 'text/plain', false],
  ['subtype', 'another subtype is refused', ['image/png'], 'image/jpeg', false],
]

for (const [name, promise, allowed, type, taken] of types) {
  upload.case(`type.allowed.${name}`, promise, { source: restricted }, async (t) => {
    const bucket = await t.bucket({ allowed_mime_types: allowed })
    const options = { as: 'service', headers: { 'content-type': type } } as const
    const response = await t.post(`object/${bucket}/a`, text, options)
    if (taken) response.is(200, { Key: `${bucket}/a`, Id: some.uuid })
    else {
      const message = `mime type ${type} is not supported`
      response.is(400, problem(415, 'invalid_mime_type', message, 'InvalidMimeType'))
    }
  })
}

upload.case(
  'type.allowed.client',
  'the client library hands on the refusal of a type',
  { source: restricted },
  async (t) => {
    const files = t.service.storage.from(await t.bucket({ allowed_mime_types: ['image/*'] }))
    t.error(
      await files.upload('a', new Blob(['a'], { type: 'text/csv' })),
      partly({ statusCode: '415', message: 'mime type text/csv is not supported' }),
    )
  },
)

upload.case(
  'placeholder',
  'the placeholder of an empty folder needs no allowed type, and has to be empty',
  { source: uploader },
  async (t) => {
    const bucket = await t.bucket({ allowed_mime_types: ['image/png'] })
    const path = `object/${bucket}/folder/.emptyFolderPlaceholder`
    await t.post(path, text, { as: 'service' }).is(400, tooLarge)
    await t
      .post(path, new Uint8Array(), { as: 'service' })
      .is(200, { Key: `${bucket}/folder/.emptyFolderPlaceholder`, Id: some.uuid })
  },
)

upload.case(
  'robots',
  'the header x-robots-tag of an upload comes back with the download',
  { source: `${service}/storage/validators/x-robots-tag.ts` },
  async (t) => {
    const bucket = await t.bucket()
    const headers = { 'x-robots-tag': 'noindex, max-snippet:20' }
    await t.post(`object/${bucket}/a`, text, { as: 'service', headers }).is(200)
    await t
      .get(`object/${bucket}/a`, { as: 'service' })
      .is(200)
      .header('x-robots-tag', headers['x-robots-tag'])
  },
)

upload.case(
  'robots.wrong',
  'an unknown rule in x-robots-tag is refused',
  { source: `${service}/storage/validators/x-robots-tag.ts` },
  async (t) => {
    const headers = { 'x-robots-tag': 'sometimes' }
    await t
      .post(`object/${await t.bucket()}/a`, text, { as: 'service', headers })
      .is(
        400,
        problem(400, 'invalid_x_robots_tag', /^Invalid X-Robots-Tag header: /, 'InvalidRequest'),
      )
  },
)

/** The service writes an owner as text, so that none may be an empty one. */
const nobody = kind('null or an empty text', (got) => got === null || got === '')

upload.case(
  'owner',
  'the owner of an upload is the user, and of the service key nobody',
  {
    source: 'https://supabase.com/docs/guides/storage/security/ownership',
    needs: ['sql'],
  },
  async (t) => {
    const bucket = await t.bucket()
    const user = await t.user()
    t.ok(await user.client.storage.from(bucket).upload(`${user.id}/a`, text))
    await store(t, bucket, 'b')
    const removed = await t.service.storage.from(bucket).remove([`${user.id}/a`, 'b'])
    const both = removed.data?.toSorted((one, other) => other.name.length - one.name.length)
    t.data({ data: both, error: removed.error }, [
      partly({ name: `${user.id}/a`, owner_id: user.id }),
      partly({ name: 'b', owner_id: nobody }),
    ])
  },
)
