/** Uploads of the S3 protocol in parts, as the AWS SDK for JavaScript sends them. */
import { randomBytes } from 'node:crypto'
import { PassThrough, type Readable } from 'node:stream'

import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
  UploadPartCopyCommand,
} from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { describe, expect, test } from 'vitest'

import { there } from './auth/users.ts'
import { keys, refusal, useBucket } from './s3.ts'

describe.skipIf(keys === null)('the S3 protocol', () => {
  const { Bucket, s3, get } = useBucket()

  test('an upload in three parts', async () => {
    const parts = [randomBytes(5 << 20), randomBytes(5 << 20), randomBytes(1000)]
    const Key = 'multi/part'
    const { UploadId } = await s3.send(
      new CreateMultipartUploadCommand({
        Bucket,
        Key,
        ContentType: 'image/png',
        Metadata: { color: 'red' },
      }),
    )
    const Parts = await Promise.all(
      parts.map(async (Body, index) => {
        const PartNumber = index + 1
        const { ETag } = await s3.send(
          new UploadPartCommand({ Bucket, Key, UploadId, PartNumber, Body }),
        )
        return { ETag, PartNumber }
      }),
    )
    const listed = await s3.send(new ListPartsCommand({ Bucket, Key, UploadId, MaxParts: 2 }))
    expect(listed).toMatchObject({ IsTruncated: true, NextPartNumberMarker: '2' })
    expect(listed.Parts?.map(({ PartNumber, ETag, Size }) => ({ PartNumber, ETag, Size }))).toEqual(
      Parts.slice(0, 2).map((part) => ({ ...part, Size: 5 << 20 })),
    )
    const rest = await s3.send(
      new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: '2' }),
    )
    expect(rest.Parts?.map(({ PartNumber }) => PartNumber)).toEqual([3])
    const other = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'multi/other' }))
    const uploads = await s3.send(
      new ListMultipartUploadsCommand({ Bucket, Prefix: 'multi/', MaxUploads: 1 }),
    )
    expect(uploads).toMatchObject({ IsTruncated: true, NextKeyMarker: 'multi/other' })
    const next = await s3.send(
      new ListMultipartUploadsCommand({
        Bucket,
        Prefix: 'multi/',
        KeyMarker: uploads.NextKeyMarker,
        UploadIdMarker: uploads.NextUploadIdMarker,
      }),
    )
    expect(next.Uploads?.map((upload) => upload.UploadId)).toEqual([UploadId])
    const folders = await s3.send(new ListMultipartUploadsCommand({ Bucket, Delimiter: '/' }))
    expect(folders.CommonPrefixes).toEqual([{ Prefix: 'multi/' }])
    await s3.send(
      new AbortMultipartUploadCommand({ Bucket, Key: 'multi/other', UploadId: other.UploadId }),
    )

    const broken = [{ ...Parts[0], ETag: '"wrong"' }]
    const complete = (Parts: object[]) =>
      s3.send(
        new CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }),
      )
    expect(await refusal(complete(broken))).toMatchObject({ name: 'InvalidPart', status: 400 })
    const completed = await complete(Parts)
    expect(completed).toMatchObject({ Bucket, Key, Location: `${Bucket}/${Key}` })
    const read = await get(Key)
    expect(read).toMatchObject({
      ContentType: 'image/png',
      Metadata: { color: 'red' },
      ETag: completed.ETag,
    })
    expect(
      Buffer.from(await there(read.Body).transformToByteArray()).equals(Buffer.concat(parts)),
    ).toBe(true)
    expect(await refusal(complete(Parts))).toMatchObject({ name: 'NoSuchUpload', status: 404 })

    const copied = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key: 'multi/copy' }))
    const target = {
      Bucket,
      Key: 'multi/copy',
      UploadId: copied.UploadId,
      CopySource: `${Bucket}/${Key}`,
    }
    const ranges = ['bytes=0-99', 'bytes=100-199']
    const copies = await Promise.all(
      ranges.map(async (CopySourceRange, index) => {
        const PartNumber = index + 1
        const command = new UploadPartCopyCommand({ ...target, PartNumber, CopySourceRange })
        return { PartNumber, ETag: (await s3.send(command)).CopyPartResult?.ETag }
      }),
    )
    const beyond = new UploadPartCopyCommand({
      ...target,
      PartNumber: 3,
      CopySourceRange: 'bytes=0-99999999',
    })
    expect(await refusal(s3.send(beyond))).toMatchObject({ name: 'InvalidArgument', status: 400 })
    await s3.send(
      new CompleteMultipartUploadCommand({ ...target, MultipartUpload: { Parts: copies } }),
    )
    const bytes = await there((await get('multi/copy')).Body).transformToByteArray()
    expect(Buffer.from(bytes).equals(there(parts[0]).subarray(0, 200))).toBe(true)
  })

  test('the managed upload sends large streams in parts', async () => {
    const bytes = randomBytes(12 << 20)
    const stream = new PassThrough()
    stream.end(bytes)
    const upload = new Upload({
      client: s3,
      params: { Bucket, Key: 'managed', Body: stream as Readable },
    })
    await upload.done()
    expect(
      Buffer.from(await there((await get('managed')).Body).transformToByteArray()).equals(bytes),
    ).toBe(true)
  })
})
