/** What tests of the S3 protocol share: a client, and a bucket that is there as long as a file's tests. */
import { randomUUID } from 'node:crypto'

import {
  AbortMultipartUploadCommand,
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListMultipartUploadsCommand,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
  paginateListObjectsV2,
  type GetObjectCommandInput,
  type PutObjectCommandInput,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, inject } from 'vitest'

import { there } from './auth/users.ts'

/** The keys of the server under test; null where nobody has named them, so that its tests are skipped. */
export const keys = inject('s3')

/** Returns a client with these credentials. */
export function connect(credentials: {
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
}) {
  return new S3Client({
    endpoint: `${inject('access').url}/storage/v1/s3`,
    region: keys?.region ?? 'local',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials,
  })
}

/** Makes a bucket before the tests of a suite and removes it after them; returns its name and what uses it. */
export function useBucket() {
  const Bucket = `s3-${randomUUID()}`
  const s3 = connect(keys ?? { accessKeyId: '', secretAccessKey: '' })

  beforeAll(async () => {
    await s3.send(new CreateBucketCommand({ Bucket, ACL: 'public-read' }))
  })

  afterAll(async () => {
    const uploads = await s3.send(new ListMultipartUploadsCommand({ Bucket }))
    for (const { Key, UploadId } of uploads.Uploads ?? []) {
      await s3.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId }))
    }
    for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket })) {
      const Objects = (page.Contents ?? []).map(({ Key }) => ({ Key }))
      if (Objects.length > 0)
        await s3.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
    }
    await s3.send(new DeleteBucketCommand({ Bucket }))
    expect((await refusal(s3.send(new HeadBucketCommand({ Bucket })))).status).toBe(404)
  })

  const put = async (
    Key: string,
    Body: PutObjectCommandInput['Body'],
    more: Partial<PutObjectCommandInput> = {},
  ) => await s3.send(new PutObjectCommand({ Bucket, Key, Body, ...more }))
  const get = async (Key: string, more: Partial<GetObjectCommandInput> = {}) =>
    await s3.send(new GetObjectCommand({ Bucket, Key, ...more }))
  const text = async (Key: string, more: Partial<GetObjectCommandInput> = {}) =>
    await there((await get(Key, more)).Body).transformToString()
  return { Bucket, s3, put, get, text }
}

/** Returns the name and the status of the error that the client throws. */
export async function refusal(
  response: Promise<unknown>,
): Promise<{ name: string; status: number | undefined }> {
  const error = await response.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(error instanceof S3ServiceException))
    throw new Error(`expected a refusal, found ${String(error)}`)
  return { name: error.name, status: error.$metadata.httpStatusCode }
}
