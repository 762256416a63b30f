import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { partly, some } from '../../match.ts'

import { bucketOf, bytes, errorCodes, noSuchKey, problem, service, store } from './setup.ts'

const signing = 'https://supabase.com/docs/guides/storage/serving/downloads#signing-urls'
const reference = 'https://supabase.com/docs/reference/javascript/storage-from-'
const routes = `${service}/http/routes/object`

export const sign = group('storage.sign', {
  title: 'Signed URLs to download',
  source: signing,
  needs: ['service'],
})

/** Signs a path, and returns the URL and its token. */
async function signed(t: Context, path: string): Promise<{ url: string; token: string }> {
  const response = await t.prepare('POST', `/storage/v1/object/sign/${path}`, { expiresIn: 60 })
  const url = String(response.signedURL)
  return {
    url: `/storage/v1${url}`,
    token: new URL(url, 'http://x').searchParams.get('token') ?? '',
  }
}

/** Returns the token with another character in its signature. */
function forged(token: string): string {
  const [header = '', claims = '', seal = ''] = token.split('.')
  return `${header}.${claims}.${seal.startsWith('A') ? 'B' : 'A'}${seal.slice(1)}`
}

sign.case(
  'response',
  'a signed URL is relative to the interface, and has a token',
  { source: `${routes}/getSignedURL.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const response = await t
      .post(`object/sign/${bucket}/a.txt`, { expiresIn: 60 }, { as: 'service' })
      .is(200, { signedURL: /^\/object\/sign\/[^/]+\/a\.txt\?token=[^.]+\.[^.]+\.[^.]+$/ })
    await t
      .get(response.field('signedURL').slice(1), { as: 'nobody' })
      .text(200, 'conformance')
      .header('expires', /GMT$/)
      .header('cache-control', null)
  },
)

sign.case(
  'download',
  'a signed URL with a name to download leads to an attachment of that name',
  { source: `${reference}createsignedurl` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const files = t.service.storage.from(bucket)
    const named = await files.createSignedUrl('a.txt', 60, { download: 'mine.txt' })
    t.ok(named)
    await t
      .get(named.data?.signedUrl ?? '', { as: 'nobody' })
      .text(200, 'conformance')
      .header('content-disposition', /^attachment;.*filename=mine\.txt/)
    const bare = await files.createSignedUrl('a.txt', 60, { download: true })
    await t
      .get(bare.data?.signedUrl ?? '', { as: 'nobody' })
      .text(200, 'conformance')
      .header('content-disposition', /^attachment/)
  },
)

sign.case(
  'blanks',
  'a name with blanks is signed',
  { source: `${reference}createsignedurl` },
  async (t) => {
    const bucket = await bucketOf(t, ['my folder/my file.txt'])
    const files = t.service.storage.from(bucket)
    const { data, error } = await files.createSignedUrl('my folder/my file.txt', 60)
    t.ok({ error })
    await t.get(data?.signedUrl ?? '', { as: 'nobody' }).text(200, 'conformance')
  },
)

sign.case(
  'range',
  'a part of an object is given by a signed URL',
  { source: `${routes}/getSignedObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const { url } = await signed(t, `${bucket}/a.txt`)
    await t
      .get(url, { as: 'nobody', headers: { range: 'bytes=0-2' } })
      .text(206, 'con')
      .header('content-range', 'bytes 0-2/11')
  },
)

sign.case('expired', 'a signed URL ends after its time', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const { data, error } = await t.service.storage.from(bucket).createSignedUrl('a.txt', 1)
  t.ok({ error })
  await t.pause(2200)
  await t
    .get(data?.signedUrl ?? '', { as: 'nobody' })
    .is(400, problem(400, 'InvalidJWT', '"exp" claim timestamp check failed'))
})

sign.case(
  'token.none',
  'the path of signed URLs needs a token',
  { source: `${routes}/getSignedObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const message = "querystring must have required property 'token'"
    await t
      .get(`object/sign/${bucket}/a.txt`, { as: 'service' })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  },
)

sign.case('token.malformed', 'what is no token is refused', { source: errorCodes }, async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  await t
    .get(`object/sign/${bucket}/a.txt?token=none`, { as: 'nobody' })
    .is(400, problem(400, 'InvalidJWT', 'Invalid Compact JWS'))
})

sign.case(
  'token.forged',
  'a token that was tampered with is refused',
  { source: errorCodes },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const { token } = await signed(t, `${bucket}/a.txt`)
    await t
      .get(`object/sign/${bucket}/a.txt?token=${forged(token)}`, { as: 'nobody' })
      .is(400, problem(400, 'InvalidJWT', 'signature verification failed'))
  },
)

sign.case(
  'token.other',
  'the token of another object is refused',
  { source: errorCodes },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt', 'b.txt'])
    const { token } = await signed(t, `${bucket}/a.txt`)
    await t
      .get(`object/sign/${bucket}/b.txt?token=${token}`, { as: 'nobody' })
      .is(400, problem(400, 'InvalidSignature', 'Invalid signature'))
  },
)

sign.case(
  'token.upload',
  'a token to upload is none to download',
  { source: `${service}/storage/object.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const path = `/storage/v1/object/upload/sign/${bucket}/b.txt`
    const { token } = await t.prepare('POST', path, {})
    await store(t, bucket, 'b.txt')
    await t
      .get(`object/sign/${bucket}/b.txt?token=${String(token)}`, { as: 'nobody' })
      .is(400, problem(400, 'InvalidSignature', 'Token is not scoped for download'))
  },
)

sign.case(
  'missing',
  'an object that is not there is not signed',
  { source: errorCodes },
  async (t) => {
    await t
      .post(`object/sign/${await t.bucket()}/a.txt`, { expiresIn: 60 }, { as: 'service' })
      .is(400, noSuchKey)
  },
)

/** Times that are refused, and the message. */
const times: [name: string, promise: string, body: object, message: string][] = [
  ['none', 'a time is needed', {}, "body must have required property 'expiresIn'"],
  ['zero', 'a time of 0 is refused', { expiresIn: 0 }, 'body/expiresIn must be >= 1'],
  ['fraction', 'a time is in whole seconds', { expiresIn: 1.5 }, 'body/expiresIn must be integer'],
]

for (const [name, promise, body, message] of times) {
  sign.case(`time.${name}`, promise, { source: `${routes}/getSignedURL.ts` }, async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    await t
      .post(`object/sign/${bucket}/a.txt`, body, { as: 'service' })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  })
}

sign.case(
  'many',
  'several paths are signed in their order, and each says what is wrong with it',
  { source: `${reference}createsignedurls` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt', 'b c/d.txt'])
    const files = t.service.storage.from(bucket)
    const result = await files.createSignedUrls(['b c/d.txt', 'none.txt', 'a.txt'], 60)
    const url = /\?token=[^.]+\.[^.]+\.[^.]+$/
    t.data(result, [
      { error: null, path: 'b c/d.txt', signedURL: url, signedUrl: url },
      {
        error: 'Either the object does not exist or you do not have access to it',
        ...{ path: 'none.txt', signedURL: null, signedUrl: null },
      },
      { error: null, path: 'a.txt', signedURL: url, signedUrl: url },
    ])
    await t.get(result.data?.[0]?.signedUrl ?? '', { as: 'nobody' }).text(200, 'conformance')
  },
)

sign.case(
  'many.reserved',
  'a name with reserved characters is signed among several',
  { source: `${reference}createsignedurls` },
  async (t) => {
    const bucket = await bucketOf(t, ['a&b=c+d,e.txt'])
    const { data, error } = await t.service.storage
      .from(bucket)
      .createSignedUrls(['a&b=c+d,e.txt'], 60)
    t.ok({ error })
    await t.get(data?.[0]?.signedUrl ?? '', { as: 'nobody' }).text(200, 'conformance')
  },
)

sign.case(
  'many.none',
  'a list of no paths is refused',
  { source: `${routes}/getSignedURLs.ts` },
  async (t) => {
    const message = 'body/paths must NOT have fewer than 1 items'
    await t
      .post(`object/sign/${await t.bucket()}`, { expiresIn: 60, paths: [] }, { as: 'service' })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  },
)

const uploading = `${reference}createsigneduploadurl`

export const signUpload = group('storage.sign-upload', {
  title: 'Signed URLs to upload',
  source: uploading,
  needs: ['service'],
})

/** Signs a path for an upload, and returns the token. */
async function uploadToken(t: Context, path: string): Promise<string> {
  const { token } = await t.prepare('POST', `/storage/v1/object/upload/sign/${path}`, {})
  return String(token)
}

signUpload.case('response', 'a signed upload has a URL and its token', async (t) => {
  const bucket = await t.bucket()
  const response = await t
    .post(`object/upload/sign/${bucket}/a.txt`, {}, { as: 'service' })
    .is(200, { url: /^\/object\/upload\/sign\/[^/]+\/a\.txt\?token=.+/, token: some.token })
  await t
    .put(response.field('url').slice(1), 'signed', { as: 'nobody' })
    .is(200, { Key: `${bucket}/a.txt` })
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).text(200, 'signed')
})

signUpload.case(
  'client',
  'the client library uploads with a token, whoever it is',
  { source: `${reference}uploadtosignedurl` },
  async (t) => {
    const bucket = await t.bucket()
    const created = await t.service.storage.from(bucket).createSignedUploadUrl('a/b.txt')
    t.data(created, partly({ path: 'a/b.txt', token: some.token }))
    const files = t.anon.storage.from(bucket)
    const options = { contentType: 'text/css', cacheControl: '60' }
    t.data(
      await files.uploadToSignedUrl('a/b.txt', created.data?.token ?? '', bytes('signed'), options),
      { path: 'a/b.txt', fullPath: `${bucket}/a/b.txt` },
    )
    await t
      .get(`object/info/${bucket}/a/b.txt`, { as: 'service' })
      .has(200, { content_type: 'text/css', cache_control: 'max-age=60', size: 6 })
  },
)

signUpload.case('twice', 'without upsert a token makes an object once', async (t) => {
  const bucket = await t.bucket()
  const token = await uploadToken(t, `${bucket}/a.txt`)
  const path = `object/upload/sign/${bucket}/a.txt?token=${token}`
  await t.put(path, 'first', { as: 'nobody' }).is(200)
  await t
    .put(path, 'second', { as: 'nobody', headers: { 'x-upsert': 'true' } })
    .is(400, problem(409, 'Duplicate', 'The resource already exists', 'KeyAlreadyExists'))
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).text(200, 'first')
})

signUpload.case('upsert', 'a token with upsert replaces an object', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const files = t.service.storage.from(bucket)
  const { data, error } = await files.createSignedUploadUrl('a.txt', { upsert: true })
  t.ok({ error })
  t.ok(await t.anon.storage.from(bucket).uploadToSignedUrl('a.txt', data?.token ?? '', 'second'))
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).text(200, 'second')
})

signUpload.case('there', 'without upsert no upload to what is there is signed', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  await t
    .post(`object/upload/sign/${bucket}/a.txt`, {}, { as: 'service' })
    .is(400, problem(409, 'Duplicate', 'The resource already exists', 'KeyAlreadyExists'))
})

signUpload.case(
  'bucket.missing',
  'no upload to a bucket that is not there is signed',
  { source: `${service}/internal/errors/codes.ts` },
  (t) =>
    t
      .post(`object/upload/sign/${t.unique('none')}/a.txt`, {}, { as: 'service' })
      .is(400, problem(404, 'InvalidRequest', 'The related resource does not exist')),
)

signUpload.case(
  'token.other',
  'the token of another path is refused',
  { source: errorCodes },
  async (t) => {
    const bucket = await t.bucket()
    const token = await uploadToken(t, `${bucket}/a.txt`)
    await t
      .put(`object/upload/sign/${bucket}/b.txt?token=${token}`, 'b', { as: 'nobody' })
      .is(400, problem(400, 'InvalidSignature', 'Invalid signature'))
  },
)

signUpload.case(
  'token.download',
  'a token to download is none to upload',
  { source: `${service}/storage/object.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const { token } = await signed(t, `${bucket}/a.txt`)
    await t
      .put(`object/upload/sign/${bucket}/a.txt?token=${token}`, 'b', { as: 'nobody' })
      .is(400, problem(400, 'InvalidSignature', 'Token is not scoped for upload'))
  },
)

signUpload.case(
  'token.forged',
  'a token that was tampered with is refused',
  { source: errorCodes },
  async (t) => {
    const bucket = await t.bucket()
    const token = forged(await uploadToken(t, `${bucket}/a.txt`))
    await t
      .put(`object/upload/sign/${bucket}/a.txt?token=${token}`, 'b', { as: 'nobody' })
      .is(400, problem(400, 'InvalidJWT', 'signature verification failed'))
  },
)

signUpload.case(
  'limits',
  "a signed upload keeps to the bucket's limits",
  {
    source: 'https://supabase.com/docs/guides/storage/buckets/creating-buckets#restricting-uploads',
  },
  async (t) => {
    const bucket = await t.bucket({ allowed_mime_types: ['image/*'] })
    const token = await uploadToken(t, `${bucket}/a.txt`)
    const headers = { 'content-type': 'text/css' }
    await t
      .put(`object/upload/sign/${bucket}/a.txt?token=${token}`, 'b', { as: 'nobody', headers })
      .is(
        400,
        problem(415, 'invalid_mime_type', 'mime type text/css is not supported', 'InvalidMimeType'),
      )
  },
)
