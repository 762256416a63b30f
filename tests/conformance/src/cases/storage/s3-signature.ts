import { crc32 } from 'node:zlib'

import { group } from '../../case.ts'

import { emptyHash, presigned, s3, s3Problem, sha256, signerOf } from './s3-request.ts'
import type { Signer } from './s3-request.ts'
import { bucketOf, bytes, service } from './setup.ts'

const authentication = 'https://supabase.com/docs/guides/storage/s3/authentication#s3-access-keys'
const text = bytes('conformance')

export const s3Signature = group('storage.s3-signature', {
  title: 'S3: signatures',
  source: authentication,
  needs: ['service', 's3'],
})

s3Signature.case('secret', 'a wrong secret is refused', async (t) => {
  const keys = { accessKeyId: t.target.s3?.accessKeyId ?? '', secretAccessKey: 'wrong' }
  await s3(t, 'GET', '/', { keys }).text(403, s3Problem('SignatureDoesNotMatch'))
})

s3Signature.case('key', 'an unknown key is refused', async (t) => {
  const keys = { accessKeyId: t.unique('none'), secretAccessKey: 'wrong' }
  await s3(t, 'GET', '/', { keys }).is(403)
})

s3Signature.case('none', 'a request without a signature is refused', async (t) => {
  await t.get(`/storage/v1/s3/${await t.bucket()}`, { as: 'nobody' }).is(403)
})

s3Signature.case('presigned', 'a URL is signed in its query, to read and to write', async (t) => {
  const path = `/${await t.bucket()}/a b.txt`
  await t.put(presigned(t, 'PUT', path), text, { as: 'nobody' }).is(200)
  await t.get(presigned(t, 'GET', path), { as: 'nobody' }).bytes(200, text)
})

s3Signature.case(
  'presigned.expired',
  'a signed URL ends after its time',
  { source: `${service}/storage/protocols/s3/signature-v4.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a'])
    const date = new Date(Date.now() - 3_600_000)
    const url = presigned(t, 'GET', `/${bucket}/a`, { date })
    await t.get(url, { as: 'nobody' }).text(400, s3Problem('ExpiredToken'))
  },
)

s3Signature.case('presigned.method', 'a signed URL is good for its method alone', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  const url = presigned(t, 'GET', `/${bucket}/a`)
  await t.delete(url, { as: 'nobody' }).text(403, s3Problem('SignatureDoesNotMatch'))
})

const streaming = `${service}/storage/protocols/s3/signature-v4-stream.ts`

s3Signature.case('stream', 'a body is sent in signed pieces', { source: streaming }, async (t) => {
  const bucket = await t.bucket()
  const texts = ['confor', 'mance', ''].map(bytes)
  const request = {
    payload: 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
    headers: { 'x-amz-decoded-content-length': '11', 'content-encoding': 'aws-chunked' },
  }
  const pieces = (signer: Signer, seed: string) => {
    let before = seed
    const parts = texts.map((piece) => {
      const hashes = [before, emptyHash, sha256(piece)]
      const begin = ['AWS4-HMAC-SHA256-PAYLOAD', signer.moment, signer.scope]
      before = signer.seal([...begin, ...hashes].join('\n'))
      const head = `${piece.length.toString(16)};chunk-signature=${before}\r\n`
      return Buffer.concat([bytes(head), piece, bytes('\r\n')])
    })
    return new Uint8Array(Buffer.concat(parts))
  }
  await s3(t, 'PUT', `/${bucket}/a`, { ...request, pieces }).is(200)
  await t.get(`object/${bucket}/a`, { as: 'service' }).bytes(200, text)
})

s3Signature.case(
  'stream.trailer',
  'a body is sent in pieces with a checksum at the end',
  { source: streaming },
  async (t) => {
    const bucket = await t.bucket()
    const sum = Buffer.alloc(4)
    sum.writeUInt32BE(crc32(text))
    const body = bytes(
      `b\r\nconformance\r\n0\r\nx-amz-checksum-crc32:${sum.toString('base64')}\r\n\r\n`,
    )
    const headers = {
      'content-encoding': 'aws-chunked',
      'x-amz-decoded-content-length': '11',
      'x-amz-trailer': 'x-amz-checksum-crc32',
    }
    const payload = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'
    await s3(t, 'PUT', `/${bucket}/a`, { body, headers, payload }).is(200)
    await t.get(`object/${bucket}/a`, { as: 'service' }).bytes(200, text)
  },
)

s3Signature.case(
  'form',
  'a form with a signed policy uploads a file',
  { source: `${service}/storage/protocols/s3/policy.ts` },
  async (t) => {
    const bucket = await t.bucket()
    const signer = signerOf(t.target, new Date())
    // Named as Amazon's clients name them.
    const fields: Record<string, string> = {
      key: 'folder/a.txt',
      'content-type': 'text/css',
      'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
      'X-Amz-Credential': `${signer.accessKeyId}/${signer.scope}`,
      'X-Amz-Date': signer.moment,
    }
    const conditions = [
      { bucket },
      ...Object.entries(fields).map(([name, value]) =>
        name === 'key' ? ['starts-with', '$key', 'folder/'] : { [name]: value },
      ),
    ]
    const expiration = new Date(Date.now() + 60_000).toISOString()
    const policy = Buffer.from(JSON.stringify({ expiration, conditions })).toString('base64')
    const post = async (seal: string) => {
      const body = new FormData()
      const all = { ...fields, Policy: policy, 'X-Amz-Signature': seal }
      for (const [name, value] of Object.entries(all)) body.append(name, value)
      body.append('file', new Blob(['conformance']), 'a.txt')
      return t.post(`/storage/v1/s3/${bucket}`, body, { as: 'nobody' })
    }
    const refusal = await post(signer.seal('something else'))
    refusal.text(403, s3Problem('SignatureDoesNotMatch'))
    const response = await post(signer.seal(policy))
    t.equal(response.status >= 200 && response.status < 300, true, response.exchange)
    await t.get(`object/${bucket}/folder/a.txt`, { as: 'service' }).bytes(200, text)
  },
)
