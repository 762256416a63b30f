import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'

import { service, visitor } from './clients.ts'
import { lacks } from './features.ts'
import { runsTestsOf } from '../support/extensions.mjs'

// A Postgres without pgvector has no vector buckets.
const isThere = inject('own') === null ? !lacks('vectors') : runsTestsOf('vector')

const bucket = `vectors-${randomUUID()}`
const indexName = 'documents'
const vectors = () => service().storage.vectors
const index = () => vectors().from(bucket).index(indexName)

describe.skipIf(!isThere)('vector buckets', () => {
  beforeAll(async () => {
    expect((await vectors().createBucket(bucket)).error).toBeNull()
    const created = await vectors()
      .from(bucket)
      .createIndex({
        indexName,
        dataType: 'float32',
        dimension: 3,
        distanceMetric: 'cosine',
        metadataConfiguration: { nonFilterableMetadataKeys: ['text'] },
      })
    expect(created.error).toBeNull()
    const { error } = await index().putVectors({
      vectors: [
        {
          key: 'east',
          data: { float32: [1, 0, 0] },
          metadata: { kind: 'side', turn: 90, text: 'sunrise' },
        },
        { key: 'north', data: { float32: [0, 1, 0] }, metadata: { kind: 'side', turn: 0 } },
        { key: 'up', data: { float32: [0, 0, 1] }, metadata: { kind: 'height' } },
      ],
    })
    expect(error).toBeNull()
  })

  afterAll(async () => {
    await vectors().from(bucket).deleteIndex(indexName)
    expect((await vectors().deleteBucket(bucket)).error).toBeNull()
    expect((await vectors().getBucket(bucket)).error).toMatchObject({
      status: 404,
      statusCode: '404',
    })
  })

  test('buckets and indexes are described and listed', async () => {
    const { data } = await vectors().getBucket(bucket)
    expect(data?.vectorBucket.vectorBucketName).toBe(bucket)
    expect(Math.abs(Date.now() / 1000 - (data?.vectorBucket.creationTime ?? 0))).toBeLessThan(600)
    const buckets = await vectors().listBuckets({ prefix: bucket })
    expect(buckets.data?.vectorBuckets).toHaveLength(1)
    const described = await vectors().from(bucket).getIndex(indexName)
    expect(described.data?.index).toMatchObject({
      indexName,
      vectorBucketName: bucket,
      dataType: 'float32',
      dimension: 3,
      distanceMetric: 'cosine',
      metadataConfiguration: { nonFilterableMetadataKeys: ['text'] },
    })
    const indexes = await vectors().from(bucket).listIndexes()
    expect(indexes.data?.indexes.map((entry) => entry.indexName)).toEqual([indexName])
  })

  test('the nearest vectors that a filter leaves are found', async () => {
    const query = {
      queryVector: { float32: [0.9, 0.1, 0.2] },
      topK: 2,
      returnDistance: true,
      returnMetadata: true,
    }
    const nearest = await index().queryVectors(query)
    expect(nearest.data?.distanceMetric).toBe('cosine')
    expect(nearest.data?.vectors.map(({ key }) => key)).toEqual(['east', 'up'])
    expect(nearest.data?.vectors[0]?.distance).toBeCloseTo(0.0295, 3)
    expect(nearest.data?.vectors[0]?.metadata).toEqual({ kind: 'side', turn: 90, text: 'sunrise' })
    const filtered = await index().queryVectors({
      ...query,
      filter: { $or: [{ kind: 'height' }, { turn: { $lt: 90 } }] },
    })
    expect(filtered.data?.vectors.map(({ key }) => key)).toEqual(['up', 'north'])
  })

  test('vectors are read, listed and deleted by their keys', async () => {
    const got = await index().getVectors({ keys: ['up', 'none'], returnData: true })
    expect(got.data?.vectors).toEqual([{ key: 'up', data: { float32: [0, 0, 1] } }])
    const first = await index().listVectors({ maxResults: 2 })
    expect(first.data?.vectors.map(({ key }) => key)).toEqual(['east', 'north'])
    const rest = await index().listVectors({ maxResults: 2, nextToken: first.data?.nextToken })
    expect(rest.data?.vectors.map(({ key }) => key)).toEqual(['up'])
    expect(rest.data?.nextToken).toBeUndefined()
    await index().putVectors({ vectors: [{ key: 'down', data: { float32: [0, 0, -1] } }] })
    expect((await index().deleteVectors({ keys: ['down'] })).error).toBeNull()
    expect((await index().getVectors({ keys: ['down'] })).data?.vectors).toEqual([])
  })

  test('refusals have their status and say what is wrong', async () => {
    expect((await vectors().createBucket(bucket)).error).toMatchObject({
      status: 409,
      message: `vector bucket "${bucket}" already exists`,
    })
    const short = await index().putVectors({ vectors: [{ key: 'k', data: { float32: [1] } }] })
    expect(short.error).toMatchObject({ status: 400 })
    const none = vectors().from(bucket).index('none-of-these')
    expect(
      (await none.queryVectors({ queryVector: { float32: [1] }, topK: 1 })).error,
    ).toMatchObject({ status: 404 })
    expect((await vectors().deleteBucket(bucket)).error?.message).toBe(
      `Vector Bucket "${bucket}" not empty`,
    )
    expect((await visitor().storage.vectors.listBuckets()).error).toMatchObject({ status: 403 })
  })
})
