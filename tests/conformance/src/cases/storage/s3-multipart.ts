import { group } from '../../case.ts'
import type { Context } from '../../context.ts'

import { s3, s3Problem, xml } from './s3-request.ts'
import { bucketOf, bytes, service } from './setup.ts'

const objects = 'https://supabase.com/docs/guides/storage/s3/compatibility#object-operations'
const handler = `${service}/storage/protocols/s3/s3-handler.ts`
const text = bytes('conformance')

export const s3Multipart = group('storage.s3-multipart', {
  title: 'S3: uploads in parts',
  source: objects,
  needs: ['service', 's3'],
})

/** Begins an upload in parts, and aborts it after `use`, since its bucket cannot be removed before. */
async function multipart(
  t: Context,
  path: string,
  use: (uploadId: string) => Promise<void>,
  headers: Record<string, string> = {},
): Promise<void> {
  const creation = await s3(t, 'POST', path, { query: { uploads: '' }, headers })
  const body = new TextDecoder().decode(creation.exchange.body)
  const uploadId = /<UploadId>([^<]+)</.exec(body)?.[1] ?? ''
  try {
    creation.text(200, xml(['<InitiateMultipartUploadResult', '<UploadId>']))
    await use(uploadId)
  } finally {
    await s3(t, 'DELETE', path, { query: { uploadId } })
  }
}

/** Sends a part, and returns its ETag. */
async function sendPart(
  t: Context,
  path: string,
  uploadId: string,
  number: number,
  body: Uint8Array<ArrayBuffer>,
) {
  const query = { partNumber: String(number), uploadId }
  const sent = await s3(t, 'PUT', path, { query, body })
    .is(200)
    .header('etag', /^"[^"]+"$/)
  return sent.headerValue('etag')
}

/** Returns the document that names the parts of an upload. */
function complete(etags: string[]): Uint8Array<ArrayBuffer> {
  const parts = etags.map(
    (etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
  )
  return bytes(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
}

const asXml = { 'content-type': 'application/xml' }

s3Multipart.case('parts', 'the parts of an upload make an object', async (t) => {
  const bucket = await t.bucket()
  const path = `/${bucket}/a`
  await multipart(
    t,
    path,
    async (uploadId) => {
      // All parts but the last have 5 MiB at least.
      const first = new Uint8Array(5 * 1024 * 1024).fill(97)
      const etags = [
        await sendPart(t, path, uploadId, 1, first),
        await sendPart(t, path, uploadId, 2, bytes('end')),
      ]
      await s3(t, 'POST', path, {
        query: { uploadId },
        body: complete(etags),
        headers: asXml,
      }).text(200, xml(['<CompleteMultipartUploadResult', '<ETag>']))
      await s3(t, 'HEAD', path)
        .empty(200)
        .header('content-length', String(first.length + 3))
        .header('content-type', /^text\/csv/)
        .header('x-amz-meta-b', 'c')
      const headers = { range: `bytes=${first.length - 1}-` }
      await t.get(`object/${bucket}/a`, { as: 'service', headers }).text(206, 'aend')
    },
    { 'content-type': 'text/csv', 'x-amz-meta-b': 'c' },
  )
})

s3Multipart.case('list', 'the parts of an upload are listed, and so are uploads', async (t) => {
  const bucket = await t.bucket()
  const path = `/${bucket}/a`
  await multipart(t, path, async (uploadId) => {
    await sendPart(t, path, uploadId, 1, text)
    await s3(t, 'GET', path, { query: { uploadId } }).text(
      200,
      xml(['<ListPartsResult', '<PartNumber>1<', '<ETag>', '<Size>11<']),
    )
    await s3(t, 'GET', `/${bucket}`, { query: { uploads: '' } }).text(
      200,
      xml(['<ListMultipartUploadsResult', '<Key>a</Key>']),
    )
  })
})

s3Multipart.case('abort', 'an upload is given up', async (t) => {
  const path = `/${await t.bucket()}/a`
  await multipart(t, path, async (uploadId) => {
    // Amazon responds with 204; upstream 200, with a document that says nothing.
    await s3(t, 'DELETE', path, { query: { uploadId } }).is([200, 204])
    await s3(t, 'PUT', path, { query: { partNumber: '1', uploadId }, body: text }).text(
      404,
      s3Problem('NoSuchUpload'),
    )
  })
})

s3Multipart.case('etag', 'a wrong ETag of a part is refused', async (t) => {
  const path = `/${await t.bucket()}/a`
  await multipart(t, path, async (uploadId) => {
    await sendPart(t, path, uploadId, 1, text)
    const body = complete(['"00000000000000000000000000000000"'])
    await s3(t, 'POST', path, { query: { uploadId }, body, headers: asXml }).is(400)
    await s3(t, 'HEAD', path).empty(404)
  })
})

s3Multipart.case('copy', 'a part is copied from an object', { source: handler }, async (t) => {
  const bucket = await bucketOf(t, ['a'])
  const path = `/${bucket}/b`
  await multipart(t, path, async (uploadId) => {
    const headers = { 'x-amz-copy-source': `${bucket}/a`, 'x-amz-copy-source-range': 'bytes=3-6' }
    const copied = await s3(t, 'PUT', path, { query: { partNumber: '1', uploadId }, headers }).text(
      200,
      xml(['<CopyPartResult', '<ETag>']),
    )
    const body = new TextDecoder().decode(copied.exchange.body)
    const etag = /<ETag>([^<]+)</.exec(body)?.[1]?.replaceAll('&quot;', '"') ?? ''
    await s3(t, 'POST', path, { query: { uploadId }, body: complete([etag]), headers: asXml }).is(
      200,
    )
    await t.get(`object/${bucket}/b`, { as: 'service' }).text(200, 'form')
  })
})
