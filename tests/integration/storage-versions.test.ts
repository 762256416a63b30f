/** Versions of objects and lifecycles of buckets, as the stock client and the AWS SDK for JavaScript use them. */
import { randomUUID } from 'node:crypto'

import {
  CompleteMultipartUploadCommand,
  CopyObjectCommand,
  CreateMultipartUploadCommand,
  DeleteBucketLifecycleCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetBucketLifecycleConfigurationCommand,
  GetBucketVersioningCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectVersionsCommand,
  PutBucketLifecycleConfigurationCommand,
  PutBucketVersioningCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { Upload } from 'tus-js-client'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { there } from './auth/users.ts'
import { service, visitor } from './clients.ts'
import { lacks } from './features.ts'
import { connect, keys, refusal } from './s3.ts'

describe.skipIf(lacks('object-versions'))('a bucket that keeps versions', () => {
  const name = `versions-${randomUUID()}`
  const { storage } = service()
  const bucket = () => storage.from(name)

  beforeAll(async () => {
    const created = await storage.createBucket(name, { public: true, versioningStatus: 'ENABLED' })
    expect(created.error).toBeNull()
  })

  afterAll(async () => {
    expect((await storage.emptyBucket(name)).error).toBeNull()
    expect((await storage.deleteBucket(name)).error).toBeNull()
  })

  const write = async (path: string, text: string) => {
    const { error } = await bucket().upload(path, text, { upsert: true, contentType: 'text/plain' })
    expect(error).toBeNull()
    return there((await bucket().info(path)).data).version
  }
  const read = async (path: string, versionId?: string) => {
    const { data, error } = await bucket().download(path, versionId ? { versionId } : {})
    return error ? error.name : await data.text()
  }
  /** Returns the versions of an object, the current one first. */
  const history = async (path: string) => {
    const { data, error } = await bucket().list(path, {
      exactMatch: true,
      noncurrentVersions: 'include',
      deleteMarkers: 'include',
    })
    expect(error).toBeNull()
    return there(data)
  }

  test('says so', async () => {
    expect((await storage.getBucket(name)).data?.versioning_status).toBe('ENABLED')
    const { data } = await storage.listBuckets({ search: name })
    expect(data?.[0]?.versioning_status).toBe('ENABLED')
  })

  test('gives older versions of an object', async () => {
    const first = await write('texts/a', 'one')
    const second = await write('texts/a', 'two')
    expect(await read('texts/a')).toBe('two')
    expect(await read('texts/a', first)).toBe('one')
    const { data: info } = await bucket().info('texts/a', { versionId: first })
    expect(info).toMatchObject({ version: first, size: 3, isVersioned: true })
    expect(info?.archivedAt).toEqual(expect.any(String))
    expect(await history('texts/a')).toMatchObject([
      { name: 'texts/a', version: second, archived_at: null, is_delete_marker: false },
      { name: 'texts/a', version: first, archived_at: expect.any(String) as string },
    ])
    const url = bucket().getPublicUrl('texts/a', { versionId: first }).data.publicUrl
    expect(await (await fetch(url)).text()).toBe('one')
    const signed = await bucket().createSignedUrl('texts/a', 60, { versionId: first })
    expect(await (await fetch(there(signed.data).signedUrl)).text()).toBe('one')
  })

  test('keeps what is removed until the version itself is', async () => {
    const version = await write('texts/b', 'kept')
    const removed = await bucket().remove(['texts/b'])
    expect(removed.data).toMatchObject([{ name: 'texts/b', is_delete_marker: true }])
    expect((await bucket().exists('texts/b')).data).toBe(false)
    const { data: listed } = await bucket().list('texts', { search: 'b' })
    expect(listed).toEqual([])
    expect(await read('texts/b', version)).toBe('kept')

    const marker = there(removed.data?.[0]?.version)
    expect((await bucket().remove([{ path: 'texts/b', versionId: marker }])).error).toBeNull()
    expect(await read('texts/b')).toBe('kept')
    await bucket().remove([{ path: 'texts/b', versionId: version }])
    expect(await history('texts/b')).toEqual([])
  })

  test('keeps what moves and copies replace, and brings it back', async () => {
    const first = await write('moved', 'one')
    await write('moved', 'two')
    expect((await bucket().move('moved', 'away')).error).toBeNull()
    expect((await history('moved')).map((entry) => entry.is_delete_marker)).toEqual([
      true,
      false,
      false,
    ])
    expect(await read('away')).toBe('two')
    const copied = await bucket().copy('moved', 'again', { sourceVersionId: first })
    expect(copied.data?.path).toBe(`${name}/again`)
    expect(await read('again')).toBe('one')
    const restored = await bucket().move('moved', 'moved', { sourceVersionId: first })
    expect(restored.error).toBeNull()
    expect(await read('moved')).toBe('one')
  })

  test('keeps what a resumable upload replaces', async () => {
    const first = await write('resumed', 'one')
    await new Promise<void>((resolve, reject) => {
      new Upload(Buffer.from('two'), {
        endpoint: `${inject('access').url}/storage/v1/upload/resumable`,
        retryDelays: null,
        headers: { authorization: `Bearer ${inject('access').serviceKey}`, 'x-upsert': 'true' },
        metadata: { bucketName: name, objectName: 'resumed', contentType: 'text/plain' },
        onError: reject,
        onSuccess: () => resolve(),
      }).start()
    })
    expect(await read('resumed')).toBe('two')
    expect(await read('resumed', first)).toBe('one')
  })

  test('lists pages of versions', async () => {
    for (const text of ['one', 'two', 'three']) await write('pages/a', text)
    await write('pages/b', 'one')
    await bucket().remove(['pages/b'])
    const seen: string[] = []
    let cursor: string | undefined
    do {
      const { data, error } = await bucket().listV2({
        prefix: 'pages/',
        limit: 2,
        noncurrentVersions: 'include',
        deleteMarkers: 'include',
        ...(cursor === undefined ? {} : { cursor }),
      })
      expect(error).toBeNull()
      const page = there(data)
      seen.push(...page.objects.map((entry) => `${entry.name}${entry.is_delete_marker ? '-' : ''}`))
      cursor = page.hasNext ? page.nextCursor : undefined
    } while (cursor !== undefined)
    expect(seen).toEqual(['pages/a', 'pages/a', 'pages/a', 'pages/b-', 'pages/b'])
  })

  test('shows versions to those who see the object', async () => {
    const version = await write('secret', 'one')
    expect((await storage.updateBucket(name, { public: false })).error).toBeNull()
    const { error } = await visitor().storage.from(name).download('secret', { versionId: version })
    expect(error).not.toBeNull()
    expect((await storage.updateBucket(name, { public: true })).error).toBeNull()
  })

  test('replaces what was written since it no longer keeps versions', async () => {
    const first = await write('suspended', 'one')
    await storage.updateBucket(name, { public: true, versioningStatus: 'SUSPENDED' })
    const second = await write('suspended', 'two')
    await write('suspended', 'three')
    expect(await read('suspended', first)).toBe('one')
    expect(await read('suspended', second)).not.toBe('two')
    expect(await read('suspended', 'null')).toBe('three')
    await storage.updateBucket(name, { public: true, versioningStatus: 'ENABLED' })
  })

  test('has a lifecycle', async () => {
    expect((await storage.getBucketLifecycle(name)).error).toMatchObject({
      code: 'NoSuchLifecycleConfiguration',
    })
    const configuration = {
      rules: [
        {
          id: 'old',
          status: 'Enabled' as const,
          filter: {},
          noncurrentVersionExpiration: { noncurrentDays: 30, newerNoncurrentVersions: 2 },
        },
      ],
    }
    const updated = await storage.updateBucketLifecycle(name, configuration)
    expect(updated.data).toEqual(configuration)
    expect((await storage.getBucketLifecycle(name)).data).toEqual(configuration)
    const refused = await storage.updateBucketLifecycle(name, { rules: [] })
    expect(refused.error).toMatchObject({ code: 'InvalidParameter' })
    expect((await storage.deleteBucketLifecycle(name)).data?.message).toBe('Successfully deleted')
    expect((await storage.getBucketLifecycle(name)).data).toBeNull()
  })

  test('cannot go back to keeping none', async () => {
    const plain = `plain-${randomUUID()}`
    await storage.createBucket(plain, { public: false })
    const suspended = await storage.updateBucket(plain, {
      public: false,
      versioningStatus: 'SUSPENDED',
    })
    expect(suspended.error).toMatchObject({ code: 'InvalidParameter' })
    await storage.deleteBucket(plain)
  })

  describe.skipIf(keys === null)('and the S3 protocol', () => {
    const Bucket = name
    const s3 = connect(keys ?? { accessKeyId: '', secretAccessKey: '' })
    const put = async (Key: string, Body: string) =>
      there((await s3.send(new PutObjectCommand({ Bucket, Key, Body }))).VersionId)
    const text = async (Key: string, VersionId?: string) => {
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key, VersionId }))
      return await there(Body).transformToString()
    }

    test('versions are switched on and off', async () => {
      for (const Status of ['Suspended', 'Enabled'] as const) {
        const VersioningConfiguration = { Status }
        await s3.send(new PutBucketVersioningCommand({ Bucket, VersioningConfiguration }))
        expect((await s3.send(new GetBucketVersioningCommand({ Bucket }))).Status).toBe(Status)
      }
    })

    test('versions are read, marked, removed and listed', async () => {
      const [one, two] = [await put('s3/a', 'one'), await put('s3/a', 'two')]
      expect(await text('s3/a')).toBe('two')
      expect(await text('s3/a', one)).toBe('one')
      const head = await s3.send(new HeadObjectCommand({ Bucket, Key: 's3/a', VersionId: one }))
      expect(head).toMatchObject({ VersionId: one, ContentLength: 3 })
      const removed = await s3.send(new DeleteObjectCommand({ Bucket, Key: 's3/a' }))
      expect(removed.DeleteMarker).toBe(true)
      expect(await refusal(text('s3/a'))).toEqual({ name: 'NoSuchKey', status: 404 })
      const marked = await refusal(text('s3/a', removed.VersionId))
      expect(marked).toEqual({ name: 'MethodNotAllowed', status: 405 })
      const listed = await s3.send(new ListObjectVersionsCommand({ Bucket, Prefix: 's3/a' }))
      expect(listed.DeleteMarkers).toMatchObject([{ IsLatest: true, VersionId: removed.VersionId }])
      expect(listed.Versions?.map(({ VersionId }) => VersionId)).toEqual([two, one])
      const key = { Bucket, Key: 's3/a' }
      await s3.send(new DeleteObjectCommand({ ...key, VersionId: removed.VersionId }))
      expect(await text('s3/a')).toBe('two')
    })

    test('a version is copied, and a multipart upload is one', async () => {
      const one = await put('s3/b', 'one')
      await put('s3/b', 'two')
      const CopySource = `${Bucket}/s3/b?versionId=${one}`
      const copied = await s3.send(new CopyObjectCommand({ Bucket, Key: 's3/b', CopySource }))
      expect(copied.CopySourceVersionId).toBe(one)
      expect(await text('s3/b')).toBe('one')
      const target = { Bucket, Key: 's3/b' }
      const { UploadId } = await s3.send(new CreateMultipartUploadCommand(target))
      const part = { ...target, UploadId, PartNumber: 1, Body: 'three' }
      const { ETag } = await s3.send(new UploadPartCommand(part))
      const MultipartUpload = { Parts: [{ ETag, PartNumber: 1 }] }
      const done = await s3.send(
        new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload }),
      )
      expect(await text('s3/b', done.VersionId)).toBe('three')
      expect(await text('s3/b', copied.VersionId)).toBe('one')
    })

    test('a lifecycle is set, read and removed', async () => {
      const missing = s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))
      expect((await refusal(missing)).name).toBe('NoSuchLifecycleConfiguration')
      const rule = {
        ID: 'old',
        Status: 'Enabled' as const,
        Filter: { Prefix: '' },
        NoncurrentVersionExpiration: { NoncurrentDays: 7 },
      }
      const LifecycleConfiguration = { Rules: [rule] }
      await s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket, LifecycleConfiguration }))
      const { Rules } = await s3.send(new GetBucketLifecycleConfigurationCommand({ Bucket }))
      expect(Rules).toMatchObject([
        { ID: 'old', NoncurrentVersionExpiration: { NoncurrentDays: 7 } },
      ])
      expect((await storage.getBucketLifecycle(name)).data?.rules[0]?.id).toBe('old')
      await s3.send(new DeleteBucketLifecycleCommand({ Bucket }))
      const expiration = { ...rule, Expiration: { Days: 1 } }
      const refused = s3.send(
        new PutBucketLifecycleConfigurationCommand({
          Bucket,
          LifecycleConfiguration: { Rules: [expiration] },
        }),
      )
      expect((await refusal(refused)).name).toBe('NotImplemented')
    })

    test('a client removes all versions page by page', async () => {
      for (const text of ['one', 'two', 'three']) await put('s3/c', text)
      await s3.send(new DeleteObjectCommand({ Bucket, Key: 's3/c' }))
      let markers = {}
      for (let isTruncated = true; isTruncated;) {
        const page = await s3.send(
          new ListObjectVersionsCommand({ Bucket, Prefix: 's3/c', MaxKeys: 2, ...markers }),
        )
        const Objects = [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(
          ({ Key, VersionId }) => ({ Key, VersionId }),
        )
        const { Errors } = await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
        expect(Errors ?? []).toEqual([])
        isTruncated = page.IsTruncated ?? false
        markers = { KeyMarker: page.NextKeyMarker, VersionIdMarker: page.NextVersionIdMarker }
      }
      expect(await history('s3/c')).toEqual([])
    })
  })
})
