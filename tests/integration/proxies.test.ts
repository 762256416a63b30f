/** A server behind a proxy that removes a part of the path: what clients sign, and where they are sent. */
import { createServer, request, type Server as HttpServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { createPresignedPost } from '@aws-sdk/s3-presigned-post'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Upload } from 'tus-js-client'
import { beforeAll, describe, expect, inject, test } from 'vitest'

import { connect } from '../support/client.ts'
import { Server } from '../support/server.mjs'
import { there } from './auth/users.ts'

const prefix = '/team/api'
const keys = { accessKeyId: 'behind', secretAccessKey: 'a secret of tests' }
const Bucket = 'files'

const port = (server: HttpServer) => (server.address() as AddressInfo).port

/** Returns a proxy to `inner` at a port of its own that removes the prefix, and sends `notes` of a request. */
async function startProxy(
  inner: () => string,
  notes: (host: string) => Record<string, string>,
): Promise<HttpServer> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, url = '', headers } = incoming
    if (!url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end()
      return
    }
    const all = { ...headers, ...notes(headers.host ?? '') }
    const target = new URL(inner())
    const { hostname } = target
    const path = url.slice(prefix.length)
    const passed = request(
      { hostname, port: target.port, method, path, headers: all },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers)
        response.pipe(outgoing)
      },
    )
    passed.on('error', () => outgoing.destroy())
    incoming.pipe(passed)
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return proxy
}

describe.skipIf(inject('own') === null).each([
  {
    name: 'a proxy that passes on the host and is not trusted',
    trusted: '0',
    notes: () => ({}),
  },
  {
    name: 'a trusted proxy that replaces the host and notes the original one',
    trusted: '1',
    notes: (host: string) => ({
      host: 'inner.example:5000',
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-host': host,
      'x-forwarded-proto': 'http',
      'x-forwarded-prefix': prefix,
    }),
  },
])('behind $name', ({ trusted, notes }) => {
  let proxy: HttpServer
  let server: Server
  let inner: string
  let outer: string
  let s3: S3Client

  const client = (url: string) =>
    new S3Client({
      endpoint: `${url}/storage/v1/s3`,
      region: 'local',
      forcePathStyle: true,
      maxAttempts: 1,
      credentials: keys,
    })
  const presigned = (Key: string) => getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }))

  beforeAll(async () => {
    proxy = await startProxy(() => inner, notes)
    outer = `http://127.0.0.1:${String(port(proxy))}${prefix}`
    // A port that is free now.
    const free = createServer().listen(0, '127.0.0.1')
    await once(free, 'listening')
    const own = port(free)
    free.close()
    await once(free, 'close')
    server = await Server.start({
      port: own,
      only: ['rest', 'auth', 'storage'],
      env: {
        API_EXTERNAL_URL: outer,
        BASALT_TRUSTED_PROXIES: trusted,
        S3_PROTOCOL_ACCESS_KEY_ID: keys.accessKeyId,
        S3_PROTOCOL_ACCESS_KEY_SECRET: keys.secretAccessKey,
      },
    })
    expect(server.access.url).toBe(outer)
    inner = `http://127.0.0.1:${String(own)}`
    s3 = client(outer)
    await s3.send(new CreateBucketCommand({ Bucket, ACL: 'public-read' }))
  })

  test('signed requests and presigned URLs are for the public address', async () => {
    await s3.send(new PutObjectCommand({ Bucket, Key: 'a b/c', Body: 'text' }))
    expect(await (await fetch(await presigned('a b/c'))).text()).toBe('text')
    const command = new PutObjectCommand({ Bucket, Key: 'put' })
    const put = await fetch(await getSignedUrl(s3, command), { method: 'PUT', body: 'by URL' })
    expect(put.status).toBe(200)
    const { url, fields } = await createPresignedPost(s3, { Bucket, Key: 'posted' })
    const form = new FormData()
    for (const [name, value] of Object.entries(fields)) form.append(name, value)
    form.append('file', new Blob(['by form']))
    expect((await fetch(url, { method: 'POST', body: form })).status).toBe(204)
    const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }))
    expect(Contents?.map(({ Key }) => Key)).toEqual(['a b/c', 'posted', 'put'])
  })

  test('clients on the inside sign the address that they call', async () => {
    const read = await client(inner).send(new ListObjectsV2Command({ Bucket, MaxKeys: 0 }))
    expect(read.$metadata.httpStatusCode).toBe(200)
    // The prefix is the proxy's, and no part of a path on the inside.
    const url = await getSignedUrl(
      client(`${inner}${prefix}`),
      new ListObjectsV2Command({ Bucket }),
    )
    expect((await fetch(url)).status).toBe(404)
    expect((await fetch(url.replace(prefix, ''))).status).toBe(403)
  })

  test('a presigned URL opens nothing else, whatever its holder notes', async () => {
    await s3.send(new PutObjectCommand({ Bucket, Key: 'secret.txt', Body: 'secret' }))
    const nested = `public/storage/v1/s3/${Bucket}/secret.txt`
    const { pathname, search } = new URL(await presigned(nested))
    const end = `/storage/v1/s3/${Bucket}/secret.txt`
    const front = pathname.slice(0, -end.length)
    expect(front + end).toBe(pathname)
    const host = new URL(outer).host
    for (const base of [outer, inner])
      for (const value of [front, front.slice(prefix.length), `${front}/`])
        for (const name of ['x-forwarded-prefix', 'x-forwarded-uri', 'x-original-url', 'forwarded'])
          for (const method of ['GET', 'PUT', 'DELETE']) {
            const headers = { [name]: value, 'x-forwarded-host': host, 'x-forwarded-path': value }
            const response = await fetch(`${base}${end}${search}`, { method, headers })
            expect(response.status, `${method} ${base} ${name}: ${value}`).toBe(403)
          }
    const read = await s3.send(new GetObjectCommand({ Bucket, Key: 'secret.txt' }))
    expect(await there(read.Body).transformToString()).toBe('secret')
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'secret.txt' }))
  })

  test('resumable uploads and signed URLs lead through the proxy', async () => {
    const bytes = Buffer.alloc(300_000, 'x')
    const { serviceKey } = server.access
    const place = await new Promise<string>((resolve, reject) => {
      const upload = new Upload(bytes, {
        endpoint: `${outer}/storage/v1/upload/resumable`,
        retryDelays: null,
        headers: { authorization: `Bearer ${serviceKey}` },
        chunkSize: 200_000,
        metadata: { bucketName: Bucket, objectName: 'resumable', contentType: 'text/plain' },
        onError: reject,
        onSuccess: () => resolve(upload.url ?? ''),
      })
      upload.start()
    })
    expect(place.startsWith(`${outer}/storage/v1/upload/resumable/`)).toBe(true)
    const bucket = connect(outer, serviceKey).storage.from(Bucket)
    const { data } = await bucket.createSignedUrl('resumable', 60)
    expect((await (await fetch(there(data).signedUrl)).text()).length).toBe(bytes.length)
  })
})
