/** Multipart uploads whose server is killed while it puts the parts together. */
import { randomBytes } from 'node:crypto'

import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  ListMultipartUploadsCommand,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { beforeAll, describe, expect, inject, test } from 'vitest'

import { Server } from '../support/server.mjs'

/** Milliseconds between the request for completion and the kill: from before its first write to after its response. */
const MOMENTS = [0, 15, 40, 80, 160, 400]
/** The least that a part may have. */
const PART = 5 * 1024 * 1024
const Bucket = 'killed'
const credentials = { accessKeyId: 'killed', secretAccessKey: 'secret of tests' }

describe.skipIf(inject('own') === null)('a multipart upload', () => {
  const options = {
    only: ['storage'],
    env: {
      S3_PROTOCOL_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_PROTOCOL_ACCESS_KEY_SECRET: credentials.secretAccessKey,
    },
  }
  const bytes = randomBytes(3 * PART)
  let server: Server
  let s3: S3Client

  async function start(dataDir?: string) {
    server = await Server.start(dataDir ? { ...options, dataDir } : options)
    s3 = new S3Client({
      endpoint: `${server.access.url}/storage/v1/s3`,
      region: 'local',
      forcePathStyle: true,
      maxAttempts: 1,
      credentials,
    })
  }

  beforeAll(async () => {
    await start()
    await s3.send(new CreateBucketCommand({ Bucket }))
  })

  test.for(MOMENTS)(
    'is an object or goes on after a kill %i ms into its completion',
    { timeout: 120_000 },
    async (moment) => {
      const Key = `after-${String(moment)}`
      const { UploadId } = await s3.send(new CreateMultipartUploadCommand({ Bucket, Key }))
      const Parts = []
      for (let PartNumber = 1; PartNumber <= 3; PartNumber++) {
        const Body = bytes.subarray((PartNumber - 1) * PART, PartNumber * PART)
        const part = { Bucket, Key, UploadId, PartNumber, Body }
        Parts.push({ PartNumber, ETag: (await s3.send(new UploadPartCommand(part))).ETag })
      }
      const completion = { Bucket, Key, UploadId, MultipartUpload: { Parts } }
      const acknowledged = s3.send(new CompleteMultipartUploadCommand(completion)).then(
        () => true,
        () => false,
      )
      await new Promise((resolve) => setTimeout(resolve, moment))
      await server.kill()
      const wasAcknowledged = await acknowledged
      await start(server.dataDir)

      const { Uploads = [] } = await s3.send(new ListMultipartUploadsCommand({ Bucket }))
      const goesOn = Uploads.some((upload) => upload.UploadId === UploadId)
      if (wasAcknowledged) expect(goesOn).toBe(false)
      if (goesOn) await s3.send(new CompleteMultipartUploadCommand(completion))
      const { Body } = await s3.send(new GetObjectCommand({ Bucket, Key }))
      expect(bytes.equals((await Body?.transformToByteArray()) ?? Buffer.of())).toBe(true)
    },
  )
})
