import { group } from '../../case.ts'
import type { RawResponse, PendingResponse } from '../../raw-response.ts'
import type { Caller, Context } from '../../context.ts'

import { bucketOf, bytes, noSuchKey, problem, service } from './setup.ts'

const guide = 'https://supabase.com/docs/guides/storage/uploads/resumable-uploads'
const protocol = 'https://tus.io/protocols/resumable-upload'
const lifecycle = `${service}/http/routes/tus/lifecycle.ts`

export const tus = group('storage.tus', {
  title: 'Resumable uploads',
  source: guide,
  needs: ['service'],
  probe: async (t) => t.present(await t.http('OPTIONS', 'upload/resumable', { as: 'nobody' })),
})

const version = { 'tus-resumable': '1.0.0' }

/** How an upload is begun, where it is not as usual. */
interface UploadOptions {
  as?: Caller
  /** By default 11. */
  length?: number
  metadata?: Record<string, string>
  headers?: Record<string, string>
  /** What is sent with the beginning. */
  body?: Uint8Array<ArrayBuffer>
  path?: string
}

/** Begins an upload. */
function begin(
  t: Context,
  bucket: string,
  name: string,
  beginning: UploadOptions = {},
): PendingResponse {
  const { as = 'service', length = 11, metadata = {}, headers = {}, body } = beginning
  const fields = Object.entries({ bucketName: bucket, objectName: name, ...metadata })
  const encoded = fields.map(([key, text]) => `${key} ${Buffer.from(text).toString('base64')}`)
  return t.http('POST', beginning.path ?? 'upload/resumable', {
    as,
    headers: {
      ...version,
      'upload-length': String(length),
      'upload-metadata': encoded.join(','),
      ...(body ? { 'content-type': 'application/offset+octet-stream' } : {}),
      ...headers,
    },
    ...(body ? { body } : {}),
  })
}

/** Sends a part of an upload. */
function send(
  t: Context,
  creation: RawResponse,
  offset: number,
  part: string,
  { as = 'service', headers = {} }: { as?: Caller; headers?: Record<string, string> } = {},
): PendingResponse {
  const type = 'application/offset+octet-stream'
  return t.patch(creation.headerValue('location'), bytes(part), {
    as,
    headers: { ...version, 'upload-offset': String(offset), 'content-type': type, ...headers },
  })
}

tus.case(
  'options',
  'OPTIONS tells the version, the extensions and the largest size, without a key',
  { source: `${protocol}#options` },
  async (t) => {
    await t
      .http('OPTIONS', 'upload/resumable', { as: 'nobody' })
      .empty(204)
      .header('tus-resumable', '1.0.0')
      .header('tus-version', /\b1\.0\.0\b/)
      .header('tus-max-size', /^\d+$/)
  },
)

/** Extensions of the protocol. */
const extensions: [name: string, promise: string][] = [
  ['creation', 'uploads are made by POST'],
  ['creation-with-upload', 'the beginning may bring a part'],
  ['creation-defer-length', 'the length may be told later'],
  ['termination', 'uploads may be given up'],
  ['expiration', 'uploads come to an end'],
]

for (const [name, promise] of extensions) {
  tus.case(`options.${name}`, promise, { source: `${protocol}#protocol-extensions` }, (t) =>
    t
      .http('OPTIONS', 'upload/resumable', { as: 'nobody' })
      .header('tus-extension', new RegExp(`(^|,) *${name}(,|$)`)),
  )
}

tus.case(
  'parts',
  'an upload in parts makes the object with its last part',
  { source: `${guide}#upload-url` },
  async (t) => {
    const bucket = await t.bucket()
    const creation = await begin(t, bucket, 'a/b.txt')
      .is(201)
      .header('tus-resumable', '1.0.0')
      .header('location', /^https?:\/\/.+\/upload\/resumable\/[^/]+$/)
    await send(t, creation, 0, 'conf').empty(204).header('upload-offset', '4')
    await t.get(`object/${bucket}/a/b.txt`, { as: 'service' }).is(400, noSuchKey)
    await send(t, creation, 4, 'ormance').empty(204).header('upload-offset', '11')
    await t.get(`object/${bucket}/a/b.txt`, { as: 'service' }).text(200, 'conformance')
  },
)

tus.case('metadata', 'the metadata of an upload are those of the object', async (t) => {
  const bucket = await t.bucket()
  const metadata = { contentType: 'text/csv', cacheControl: '60', metadata: '{"a":[1]}' }
  await send(t, await begin(t, bucket, 'a', { metadata }), 0, 'conformance').is(204)
  await t.get(`object/info/${bucket}/a`, { as: 'service' }).has(200, {
    ...{ content_type: 'text/csv', cache_control: 'max-age=60', size: 11 },
    metadata: { a: [1] },
  })
})

tus.case('head', 'HEAD tells how much there is', { source: `${protocol}#head` }, async (t) => {
  const creation = await begin(t, await t.bucket(), 'a')
  await send(t, creation, 0, 'conf').is(204)
  await t
    .head(creation.headerValue('location'), { as: 'service', headers: version })
    .empty(200)
    .header('upload-offset', '4')
    .header('upload-length', '11')
    .header('upload-metadata', /\bobjectName YQ==/)
    .header('cache-control', /no-store/)
})

tus.case(
  'with-upload',
  'the beginning brings the content',
  { source: `${protocol}#creation-with-upload` },
  async (t) => {
    const bucket = await t.bucket()
    const creation = await begin(t, bucket, 'a', { body: bytes('confor') })
      .is(201)
      .header('upload-offset', '6')
    await send(t, creation, 6, 'mance').is(204)
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
    await begin(t, bucket, 'b', { body: bytes('conformance') })
      .is(201)
      .header('upload-offset', '11')
    await t.get(`object/${bucket}/b`, { as: 'service' }).text(200, 'conformance')
  },
)

tus.case(
  'empty',
  'an upload of no bytes is an empty object at once',
  { source: `${protocol}#creation` },
  async (t) => {
    const bucket = await t.bucket()
    await begin(t, bucket, 'a', { length: 0 }).is(201)
    await t.get(`object/${bucket}/a`, { as: 'service' }).empty(200)
  },
)

tus.case(
  'defer-length',
  'the length is told with a part',
  { source: `${protocol}#upload-defer-length` },
  async (t) => {
    const bucket = await t.bucket()
    const fields = `bucketName ${btoa(bucket)},objectName ${btoa('a')}`
    const headers = { ...version, 'upload-defer-length': '1', 'upload-metadata': fields }
    const creation = await t.http('POST', 'upload/resumable', { as: 'service', headers }).is(201)
    await t
      .head(creation.headerValue('location'), { as: 'service', headers: version })
      .empty(200)
      .header('upload-defer-length', '1')
      .header('upload-length', null)
    await send(t, creation, 0, 'conformance', { headers: { 'upload-length': '11' } }).is(204)
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
  },
)

tus.case(
  'offset',
  'a part at another place than the end is a conflict',
  { source: `${protocol}#patch` },
  async (t) => {
    const creation = await begin(t, await t.bucket(), 'a')
    await send(t, creation, 3, 'conf').is(409)
    await send(t, creation, 0, 'conf').empty(204).header('upload-offset', '4')
  },
)

tus.case(
  'offset.none',
  'a part needs its place',
  { source: `${protocol}#upload-offset` },
  async (t) => {
    const creation = await begin(t, await t.bucket(), 'a')
    const headers = { ...version, 'content-type': 'application/offset+octet-stream' }
    await t
      .patch(creation.headerValue('location'), bytes('a'), { as: 'service', headers })
      .text(403, /^Upload-Offset header required\s*$/)
  },
)

tus.case('type', 'a part needs its content type', { source: `${protocol}#patch` }, async (t) => {
  const creation = await begin(t, await t.bucket(), 'a')
  await send(t, creation, 0, 'conf', { headers: { 'content-type': 'text/plain' } }).text(
    400,
    /^Invalid content-type\s*$/,
  )
})

tus.case(
  'size.part',
  'more than the length of the upload is refused',
  { source: `${protocol}#patch` },
  async (t) => {
    const creation = await begin(t, await t.bucket(), 'a', { length: 3 })
    await send(t, creation, 0, 'conf').is(413)
  },
)

tus.case(
  'version',
  'a request without the version of the protocol is refused',
  { source: `${protocol}#tus-resumable` },
  async (t) => {
    const fields = `bucketName ${btoa(await t.bucket())},objectName ${btoa('a')}`
    const headers = { 'upload-length': '3', 'upload-metadata': fields }
    await t.http('POST', 'upload/resumable', { as: 'service', headers }).is(412)
  },
)

tus.case('terminate', 'an upload is given up', { source: `${protocol}#termination` }, async (t) => {
  const creation = await begin(t, await t.bucket(), 'a')
  const options = { as: 'service', headers: version } as const
  await t.delete(creation.headerValue('location'), options).empty(204)
  await t.head(creation.headerValue('location'), options).is([404, 410])
})

tus.case(
  'terminate.finished',
  'what is finished is not given up',
  { source: `${service}/http/routes/tus/index.ts` },
  async (t) => {
    const bucket = await t.bucket()
    const creation = await begin(t, bucket, 'a')
    await send(t, creation, 0, 'conformance').is(204)
    const options = { as: 'service', headers: version } as const
    // 409 where the service asks first whether the object may be written at all.
    await t.delete(creation.headerValue('location'), options).is([400, 409])
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
  },
)

tus.case(
  'there',
  'what is there is not overwritten without x-upsert',
  { source: `${guide}#overwriting-files` },
  async (t) => {
    const bucket = await bucketOf(t, ['a'])
    await begin(t, bucket, 'a').text(409, /^The resource already exists\s*$/)
    const headers = { 'x-upsert': 'true' }
    const creation = await begin(t, bucket, 'a', { headers }).is(201)
    await send(t, creation, 0, 'overwritten', { headers }).is(204)
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'overwritten')
  },
)

tus.case(
  'concurrency',
  'of two uploads to one path the first to be completed succeeds',
  { source: `${guide}#concurrency` },
  async (t) => {
    const bucket = await t.bucket()
    const one = await begin(t, bucket, 'a').is(201)
    const other = await begin(t, bucket, 'a').is(201)
    t.equal(one.headerValue('location') !== other.headerValue('location'), true)
    await send(t, one, 0, 'conformance').is(204)
    await send(t, other, 0, 'other bytes').is(409)
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
  },
)

/** Beginnings that are refused, with the status and the text. */
const wrong: [
  name: string,
  promise: string,
  ask: (t: Context, bucket: string) => PendingResponse,
  status: number,
  text: RegExp,
][] = [
  [
    ...(['metadata', 'an upload needs metadata'] as const),
    (t) => {
      const headers = { ...version, 'upload-length': '3' }
      return t.http('POST', 'upload/resumable', { as: 'service', headers })
    },
    ...([400, /^Metadata header is required\s*$/] as const),
  ],
  [
    ...(['name', 'an upload needs a valid name'] as const),
    (t, bucket) => begin(t, bucket, 'a#b'),
    ...([400, /^Invalid key: a#b\s*$/] as const),
  ],
  [
    ...(['bucket', 'an upload needs a bucket that is there'] as const),
    (t) => begin(t, t.unique('none'), 'a'),
    ...([404, /^Bucket not found\s*$/] as const),
  ],
  [
    ...(['size', "the bucket's size limit holds"] as const),
    (t, bucket) => begin(t, bucket, 'a', { length: 101 }),
    ...([413, /^Maximum size exceeded\s*$/] as const),
  ],
  [
    ...(['type', "the bucket's types hold"] as const),
    (t, bucket) => begin(t, bucket, 'a', { metadata: { contentType: 'text/css' } }),
    ...([415, /^mime type text\/css is not supported\s*$/] as const),
  ],
]

for (const [name, promise, ask, status, text] of wrong) {
  tus.case(`wrong.${name}`, promise, { source: lifecycle }, async (t) => {
    const bucket = await t.bucket({ file_size_limit: 100, allowed_mime_types: ['image/*'] })
    await ask(t, bucket).text(status, text)
  })
}

tus.case(
  'wrong.length',
  'an upload needs its length, or that it is told later',
  { source: `${protocol}#creation` },
  async (t) => {
    const bucket = await t.bucket()
    const fields = `bucketName ${btoa(bucket)},objectName ${btoa('a')}`
    const headers = { ...version, 'upload-metadata': fields }
    await t.http('POST', 'upload/resumable', { as: 'service', headers }).is(400)
  },
)

tus.case(
  'token',
  'an upload needs a token',
  { source: `${service}/http/plugins/jwt.ts` },
  async (t) => {
    await begin(t, await t.bucket(), 'a', { as: { token: 'none' } }).is(
      400,
      problem(403, 'Unauthorized', 'Invalid Compact JWS', 'AccessDenied'),
    )
  },
)

tus.case(
  'policy',
  'a user begins uploads where a policy allows it',
  { source: lifecycle, needs: ['sql'] },
  async (t) => {
    const bucket = await t.bucket()
    const as = await t.user()
    await begin(t, bucket, 'other/a', { as }).text(403, /^new row violates row-level security/)
    const creation = await begin(t, bucket, `${as.id}/a`, { as }).is(201)
    await send(t, creation, 0, 'conformance', { as: await t.user() }).is(403)
    await send(t, creation, 0, 'conformance', { as }).is(204)
    await t.get(`object/${bucket}/${as.id}/a`, { as }).text(200, 'conformance')
  },
)

const presigned = `${guide}#presigned-uploads`

tus.case(
  'signed',
  'a signed upload is resumable, with its token in x-signature',
  { source: presigned },
  async (t) => {
    const bucket = await t.bucket()
    const path = `/storage/v1/object/upload/sign/${bucket}/a`
    const { token } = await t.prepare('POST', path, {})
    const headers = { 'x-signature': String(token) }
    const options = { as: 'nobody', headers } as const
    const creation = await begin(t, bucket, 'a', { ...options, path: 'upload/resumable/sign' })
      .is(201)
      .header('location', /\/upload\/resumable\/sign\/[^/]+$/)
    await send(t, creation, 0, 'conformance', options).is(204)
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
  },
)

tus.case(
  'signed.none',
  'the path of signed uploads needs a token',
  { source: lifecycle },
  async (t) => {
    const beginning = { as: 'nobody', path: 'upload/resumable/sign' } as const
    await begin(t, await t.bucket(), 'a', beginning).text(400, /^Missing x-signature header\s*$/)
  },
)

tus.case(
  'signed.other',
  'the token of another path is refused',
  { source: lifecycle },
  async (t) => {
    const bucket = await t.bucket()
    const path = `/storage/v1/object/upload/sign/${bucket}/a`
    const { token } = await t.prepare('POST', path, {})
    const headers = { 'x-signature': String(token) }
    const beginning = { as: 'nobody', headers, path: 'upload/resumable/sign' } as const
    await begin(t, bucket, 'b', beginning).text(400, /^Invalid signature\s*$/)
  },
)

tus.case(
  'checksum',
  'a part that does not fit its checksum is refused',
  { source: `${protocol}#checksum` },
  async (t) => {
    const options = await t.http('OPTIONS', 'upload/resumable', { as: 'nobody' })
    if (!options.headerValue('tus-extension').includes('checksum')) {
      t.absent('the extension checksum is not offered')
    }
    const creation = await begin(t, await t.bucket(), 'a')
    const headers = { 'upload-checksum': 'sha1 AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }
    await send(t, creation, 0, 'conf', { headers }).is(460)
  },
)
