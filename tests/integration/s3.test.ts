/** The S3 protocol, as the AWS SDK for JavaScript speaks it. */
import { randomBytes } from 'node:crypto'
import { PassThrough } from 'node:stream'

import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLocationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  GetObjectTaggingCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListBucketsCommand,
  ListObjectsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  PutObjectTaggingCommand,
  paginateListObjectsV2,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { createPresignedPost } from '@aws-sdk/s3-presigned-post'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { describe, expect, inject, test } from 'vitest'

import { newUser, sql, there } from './auth/users.ts'
import { service } from './clients.ts'
import { connect, keys, refusal, useBucket } from './s3.ts'

describe.skipIf(keys === null)('the S3 protocol', () => {
  const { Bucket, s3, put, get, text } = useBucket()

  test('buckets are made, found and described', async () => {
    const { Buckets } = await s3.send(new ListBucketsCommand({ Prefix: Bucket }))
    expect(Buckets).toEqual([{ Name: Bucket, CreationDate: expect.any(Date) as Date }])
    expect((await s3.send(new HeadBucketCommand({ Bucket }))).BucketRegion).toBe(there(keys).region)
    const { LocationConstraint } = await s3.send(new GetBucketLocationCommand({ Bucket }))
    expect(LocationConstraint).toBe(there(keys).region)
    expect((await s3.send(new GetBucketVersioningCommand({ Bucket }))).Status).toBe('Suspended')
    expect((await service().storage.getBucket(Bucket)).data?.public).toBe(true)
    const repeated = await refusal(s3.send(new CreateBucketCommand({ Bucket })))
    expect(repeated).toMatchObject({ name: 'BucketAlreadyExists', status: 409 })
    await put('in-the-way', 'a')
    expect(await refusal(s3.send(new DeleteBucketCommand({ Bucket })))).toMatchObject({
      name: 'ResourceNotEmpty',
      status: 409,
    })
  })

  test('an object comes back with all that was said about it', async () => {
    const stored = await put('a/b c+(1)&=.txt', 'text', {
      ContentType: 'text/css',
      CacheControl: 'max-age=60',
      Metadata: { color: 'red' },
    })
    expect(stored.ETag).toBe('"1cb251ec0d568de6a929b520c4aed8d1"')
    const read = await get('a/b c+(1)&=.txt')
    expect(await there(read.Body).transformToString()).toBe('text')
    expect(read).toMatchObject({
      ContentType: 'text/css',
      CacheControl: 'max-age=60',
      Metadata: { color: 'red' },
      ETag: stored.ETag,
      ContentLength: 4,
    })
    const { data } = await service().storage.from(Bucket).info('a/b c+(1)&=.txt')
    expect(data).toMatchObject({ size: 4, contentType: 'text/css', metadata: { color: 'red' } })
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'a/b c+(1)&=.txt' }))
    expect(head).toMatchObject({ ContentLength: 4, ETag: stored.ETag, Metadata: { color: 'red' } })
    expect(head.LastModified).toBeInstanceOf(Date)
    const tags = await s3.send(new GetObjectTaggingCommand({ Bucket, Key: 'a/b c+(1)&=.txt' }))
    expect(tags.TagSet).toEqual([])
  })

  test('metadata of other clients that no header can carry is counted', async () => {
    await service()
      .storage.from(Bucket)
      .upload('meta', 'a', { metadata: { name: 'Zoë', plain: 'a' } })
    const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 'meta' }))
    expect(head.Metadata).toEqual({ plain: 'a' })
    expect(head.MissingMeta).toBe(1)
  })

  test('ranges and conditions', async () => {
    const { ETag } = await put('range', '0123456789')
    const part = await get('range', { Range: 'bytes=2-4' })
    expect(part.$metadata.httpStatusCode).toBe(206)
    expect(part).toMatchObject({ ContentRange: 'bytes 2-4/10', ContentLength: 3 })
    expect(await there(part.Body).transformToString()).toBe('234')
    expect(await text('range', { Range: 'bytes=-3' })).toBe('789')
    expect(await refusal(get('range', { Range: 'bytes=10-' }))).toMatchObject({
      name: 'InvalidRange',
      status: 416,
    })
    expect((await refusal(get('range', { IfNoneMatch: ETag }))).status).toBe(304)
    expect(
      (await refusal(get('range', { IfModifiedSince: new Date(Date.now() + 5000) }))).status,
    ).toBe(304)
    expect((await refusal(get('range', { IfMatch: '"other"' }))).status).toBe(412)
    expect(await text('range', { IfMatch: ETag, IfNoneMatch: '"other"' })).toBe('0123456789')
    const created = await refusal(put('range', 'new', { IfNoneMatch: '*' }))
    expect(created).toMatchObject({ name: 'PreconditionFailed', status: 412 })
    expect(await text('range')).toBe('0123456789')
  })

  test('ranges that cannot be obeyed give the whole object', async () => {
    const { ETag } = await put('whole', '0123456789')
    for (const Range of ['items=0-1', 'bytes=x', 'bytes=0-1,3-4', 'bytes=3-1'])
      expect(await text('whole', { Range })).toBe('0123456789')
    const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key: 'whole' }))
    for (const [known, status] of [
      [there(ETag), 206],
      ['"other"', 200],
    ] as const) {
      const response = await fetch(url, { headers: { Range: 'bytes=2-4', 'If-Range': known } })
      expect(response.status).toBe(status)
    }
  })

  test('a request may ask for other headers', async () => {
    await put('headers', 'a', { ContentType: 'image/png' })
    const read = await get('headers', {
      ResponseContentType: 'text/css',
      ResponseContentDisposition: 'attachment; filename="a.css"',
      ResponseCacheControl: 'no-store',
      ResponseContentLanguage: 'de',
      ResponseExpires: new Date('2030-01-01T00:00:00Z'),
    })
    expect(read).toMatchObject({
      ContentType: 'text/css',
      ContentDisposition: 'attachment; filename="a.css"',
      CacheControl: 'no-store',
      ContentLanguage: 'de',
      ExpiresString: 'Tue, 01 Jan 2030 00:00:00 GMT',
    })
  })

  test('what is missing is refused with the true status', async () => {
    expect(await refusal(get('missing'))).toMatchObject({ name: 'NoSuchKey', status: 404 })
    const elsewhere = s3.send(new GetObjectCommand({ Bucket: 'no-such-bucket', Key: 'a' }))
    expect(await refusal(elsewhere)).toMatchObject({ name: 'NoSuchBucket', status: 404 })
    expect((await refusal(s3.send(new HeadObjectCommand({ Bucket, Key: 'missing' })))).status).toBe(
      404,
    )
    expect(await refusal(put('Zoë', 'a'))).toMatchObject({ name: 'InvalidKey', status: 400 })
    const tagged = s3.send(
      new PutObjectTaggingCommand({ Bucket, Key: 'range', Tagging: { TagSet: [] } }),
    )
    expect(await refusal(tagged)).toMatchObject({ name: 'NotImplemented', status: 501 })
  })

  test('a stream whose length nobody knows is checked by its trailer', async () => {
    const stream = new PassThrough()
    stream.end(randomBytes(300_000))
    const upload = new Upload({ client: s3, params: { Bucket, Key: 'stream', Body: stream } })
    await upload.done()
    expect((await s3.send(new HeadObjectCommand({ Bucket, Key: 'stream' }))).ContentLength).toBe(
      300_000,
    )
    for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'SHA1', 'SHA256', 'CRC64NVME'] as const) {
      const body = new PassThrough()
      body.end('0123456789')
      await put('hashed', body, { ContentLength: 10, ChecksumAlgorithm })
      expect(await text('hashed')).toBe('0123456789')
    }
    expect(await refusal(put('hashed', 'a', { ChecksumCRC32: 'AAAAAA==' }))).toMatchObject({
      name: 'BadDigest',
      status: 400,
    })
    expect(await text('hashed')).toBe('0123456789')
  })

  test('lists', async () => {
    const names = ['list/a', 'list/b/1', 'list/b/2', 'list/c d', 'list/e-1', 'list/e-2', 'list/f']
    for (const name of names) await put(name, name)
    const Prefix = 'list/'
    const listed: string[] = []
    for await (const page of paginateListObjectsV2(
      { client: s3, pageSize: 2 },
      { Bucket, Prefix, Delimiter: '/' },
    )) {
      expect(page.KeyCount).toBeLessThanOrEqual(2)
      for (const { Prefix: folder } of page.CommonPrefixes ?? []) listed.push(there(folder))
      for (const { Key } of page.Contents ?? []) listed.push(there(Key))
    }
    expect(listed.sort()).toEqual([
      'list/a',
      'list/b/',
      'list/c d',
      'list/e-1',
      'list/e-2',
      'list/f',
    ])
    const all = await s3.send(
      new ListObjectsV2Command({ Bucket, Prefix, StartAfter: 'list/b/1', EncodingType: 'url' }),
    )
    expect(all.Contents?.map(({ Key }) => Key)).toEqual([
      'list/b/2',
      'list/c%20d',
      'list/e-1',
      'list/e-2',
      'list/f',
    ])
    expect(all.Contents?.[0]).toMatchObject({
      Size: 8,
      ETag: expect.stringMatching(/^"[0-9a-f]{32}"$/) as string,
    })
    const other = await s3.send(new ListObjectsV2Command({ Bucket, Prefix, Delimiter: '-' }))
    expect(other.CommonPrefixes).toEqual([{ Prefix: 'list/e-' }])
    expect(other.KeyCount).toBe(6)
    expect((await s3.send(new ListObjectsV2Command({ Bucket, MaxKeys: 0 }))).KeyCount).toBe(0)

    const first = await s3.send(
      new ListObjectsCommand({ Bucket, Prefix, Delimiter: '/', MaxKeys: 2 }),
    )
    expect([first.IsTruncated, first.NextMarker]).toEqual([true, 'list/b/'])
    const Marker = first.NextMarker
    const second = await s3.send(
      new ListObjectsCommand({ Bucket, Prefix, Delimiter: '/', MaxKeys: 2, Marker }),
    )
    expect(second.Contents?.map(({ Key }) => Key)).toEqual(['list/c d', 'list/e-1'])
    expect(
      (await s3.send(new ListObjectsCommand({ Bucket, Prefix, MaxKeys: 2 }))).NextMarker,
    ).toBeUndefined()
  })

  test('copies', async () => {
    const source = await put('source 1', 'copied', {
      ContentType: 'text/css',
      Metadata: { color: 'red' },
    })
    const CopySource = `${Bucket}/source%201`
    const copied = await s3.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource }))
    expect(copied.CopyObjectResult).toMatchObject({
      ETag: source.ETag,
      LastModified: expect.any(Date) as Date,
    })
    expect(await get('copy')).toMatchObject({ ContentType: 'text/css', Metadata: { color: 'red' } })
    await s3.send(
      new CopyObjectCommand({
        Bucket,
        Key: 'copy',
        CopySource,
        MetadataDirective: 'REPLACE',
        ContentType: 'text/plain',
        Metadata: { size: 'big' },
      }),
    )
    expect(await get('copy')).toMatchObject({
      ContentType: 'text/plain',
      Metadata: { size: 'big' },
    })
    await s3.send(
      new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, MetadataDirective: 'REPLACE' }),
    )
    expect(await get('copy')).toMatchObject({ Metadata: {} })
    expect((await get('copy')).ContentType).not.toBe('text/css')
    const conditional = (more: object) =>
      s3.send(new CopyObjectCommand({ Bucket, Key: 'copy', CopySource, ...more }))
    expect((await refusal(conditional({ CopySourceIfMatch: '"other"' }))).status).toBe(412)
    expect((await refusal(conditional({ CopySourceIfNoneMatch: source.ETag }))).status).toBe(412)
    expect((await refusal(conditional({ CopySourceIfUnmodifiedSince: new Date(0) }))).status).toBe(
      412,
    )
    await conditional({ CopySourceIfMatch: source.ETag })
    expect(await text('copy')).toBe('copied')
    expect(await refusal(conditional({ CopySource: `${Bucket}/missing` }))).toMatchObject({
      name: 'NoSuchKey',
    })
  })

  test('removals', async () => {
    await put('gone', 'a')
    await s3.send(new DeleteObjectCommand({ Bucket, Key: 'gone' }))
    const repeated = await s3.send(new DeleteObjectCommand({ Bucket, Key: 'gone' }))
    expect(repeated.$metadata.httpStatusCode).toBe(204)
    await put('gone', 'a')
    const Objects = [{ Key: 'gone' }, { Key: 'never there' }]
    const removed = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    expect(removed.Deleted).toEqual(Objects)
    expect(removed.Errors).toBeUndefined()
    expect(await refusal(get('gone'))).toMatchObject({ name: 'NoSuchKey' })
    const quiet = await s3.send(
      new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
    )
    expect(quiet.Deleted).toBeUndefined()
  })

  test('presigned addresses', async () => {
    const upload = new PutObjectCommand({
      Bucket,
      Key: 'signed address',
      Metadata: { color: 'red' },
    })
    const put = await fetch(await getSignedUrl(s3, upload, { expiresIn: 60 }), {
      method: 'PUT',
      body: 'signed',
    })
    expect(put.status, await put.clone().text()).toBe(200)
    const download = new GetObjectCommand({
      Bucket,
      Key: 'signed address',
      ResponseContentType: 'text/css',
    })
    const got = await fetch(await getSignedUrl(s3, download, { expiresIn: 60 }))
    expect([got.headers.get('content-type'), got.headers.get('x-amz-meta-color')]).toEqual([
      'text/css',
      'red',
    ])
    expect(await got.text()).toBe('signed')
    const url = new URL(
      await getSignedUrl(s3, new DeleteObjectCommand({ Bucket, Key: 'signed address' })),
    )
    url.searchParams.set('X-Amz-Expires', '901')
    const forged = await fetch(url, { method: 'DELETE' })
    expect(forged.status).toBe(403)
    expect(await forged.text()).toContain('<Code>SignatureDoesNotMatch</Code>')
  })

  test('a form with a signed policy', async () => {
    const { url, fields } = await createPresignedPost(s3, {
      Bucket,
      Key: 'form/${filename}',
      Conditions: [['content-length-range', 1, 10], { 'content-type': 'text/css' }],
      Fields: { 'content-type': 'text/css' },
    })
    const send = async (content: string) => {
      const form = new FormData()
      for (const [name, value] of Object.entries(fields)) form.append(name, value)
      form.append('file', new Blob([content]), 'a.css')
      return await fetch(url, { method: 'POST', body: form })
    }
    expect((await send('short')).status).toBe(204)
    expect(await get('form/a.css')).toMatchObject({ ContentType: 'text/css', ContentLength: 5 })
    expect((await send('much too long')).status).toBe(413)
  })

  test.skipIf(inject('own') === null)(
    'a session token is a user under row-level security',
    async () => {
      const { session } = await newUser()
      const policy = `S3 ${Bucket}`
      await sql(
        `create policy "${policy}" on storage.objects to authenticated
         using (bucket_id = '${Bucket}' and name like 'own/%')
         with check (bucket_id = '${Bucket}' and name like 'own/%')`,
      )
      const { accessKeyId, secretAccessKey, sessionToken } = {
        accessKeyId: there(keys).project,
        secretAccessKey: inject('access').anonKey,
        sessionToken: session.access_token,
      }
      const user = connect({ accessKeyId, secretAccessKey, sessionToken })
      try {
        await user.send(new PutObjectCommand({ Bucket, Key: 'own/a', Body: 'mine' }))
        const { data } = await service().storage.from(Bucket).list('own')
        expect(data?.map(({ name }) => name)).toEqual(['a'])
        const foreign = user.send(new PutObjectCommand({ Bucket, Key: 'theirs', Body: 'mine' }))
        expect(await refusal(foreign)).toMatchObject({ name: 'AccessDenied', status: 403 })
        await put('theirs', 'theirs')
        const hidden = user.send(new GetObjectCommand({ Bucket, Key: 'theirs' }))
        expect(await refusal(hidden)).toMatchObject({ name: 'NoSuchKey', status: 404 })
        const { Contents } = await user.send(new ListObjectsV2Command({ Bucket }))
        expect(Contents?.map(({ Key }) => Key)).toEqual(['own/a'])
        const Objects = [{ Key: 'own/a' }, { Key: 'theirs' }]
        const removed = await user.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
        expect(removed.Deleted).toEqual([{ Key: 'own/a' }])
        expect(removed.Errors).toMatchObject([{ Key: 'theirs', Code: 'AccessDenied' }])
        const upload = new Upload({
          client: user,
          params: { Bucket, Key: 'own/large', Body: randomBytes(6 << 20) },
        })
        await upload.done()
        const url = await getSignedUrl(user, new GetObjectCommand({ Bucket, Key: 'own/large' }))
        expect((await (await fetch(url)).arrayBuffer()).byteLength).toBe(6 << 20)
      } finally {
        await sql(`drop policy "${policy}" on storage.objects`)
      }
      const stranger = connect({ accessKeyId, secretAccessKey, sessionToken: 'forged' })
      expect(await refusal(stranger.send(new ListBucketsCommand({})))).toMatchObject({
        status: 403,
      })
    },
  )
})
