import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { including, partly, some } from '../../match.ts'

import { service } from './setup.ts'

const guide = 'https://supabase.com/docs/guides/storage/vector'
const routes = `${service}/http/routes/vector`

export const vector = group('storage.vector', {
  title: 'Vector buckets',
  source: `${guide}/creating-vector-buckets`,
  needs: ['service'],
  probe: async (t) => t.present(await t.post('vector/ListVectorBuckets', {}, { as: 'service' })),
})

/** Makes a vector bucket for the case, with an index of three dimensions. */
async function vectorBucket(t: Context): Promise<{ vectorBucketName: string; indexName: string }> {
  const vectorBucketName = t.unique('vectors').replaceAll('_', '-')
  const names = { vectorBucketName, indexName: 'documents' }
  t.after(async () => {
    await t.prepare('POST', '/storage/v1/vector/DeleteIndex', names).catch(() => undefined)
    await t.prepare('POST', '/storage/v1/vector/DeleteVectorBucket', { vectorBucketName })
  })
  await t.prepare('POST', '/storage/v1/vector/CreateVectorBucket', { vectorBucketName })
  const index = { dataType: 'float32', dimension: 3, distanceMetric: 'cosine' }
  await t.prepare('POST', '/storage/v1/vector/CreateIndex', { ...names, ...index })
  return names
}

/** Three vectors, each nearest to another axis. */
const vectors = [
  { key: 'x', data: { float32: [1, 0, 0] }, metadata: { axis: 'x' } },
  { key: 'y', data: { float32: [0, 1, 0] }, metadata: { axis: 'y' } },
  { key: 'z', data: { float32: [0, 0.5, 1] }, metadata: { axis: 'z' } },
]

vector.case('bucket', 'a vector bucket is made, found, listed and deleted', async (t) => {
  const name = t.unique('vectors').replaceAll('_', '-')
  const path = '/storage/v1/vector/DeleteVectorBucket'
  t.after(() => t.prepare('POST', path, { vectorBucketName: name }))
  const buckets = t.service.storage.vectors
  t.ok(await buckets.createBucket(name))
  const entry = partly({ vectorBucketName: name })
  t.data(await buckets.getBucket(name), partly({ vectorBucket: entry }))
  t.data(await buckets.listBuckets({ prefix: name }), partly({ vectorBuckets: [entry] }))
  t.ok(await buckets.deleteBucket(name))
  t.data(await buckets.listBuckets({ prefix: name }), partly({ vectorBuckets: [] }))
})

vector.case(
  'bucket.twice',
  'a second vector bucket of the same name is a conflict',
  { source: `${service}/internal/errors/codes.ts` },
  async (t) => {
    const { vectorBucketName } = await vectorBucket(t)
    await t
      .post('vector/CreateVectorBucket', { vectorBucketName }, { as: 'service' })
      .has(409, { statusCode: '409', code: 'ConflictException' })
  },
)

vector.case(
  'bucket.missing',
  'a vector bucket that is not there is not found',
  { source: `${service}/internal/errors/codes.ts` },
  (t) =>
    t
      .post('vector/GetVectorBucket', { vectorBucketName: t.unique('none') }, { as: 'service' })
      .has(404, { statusCode: '404', code: 'NotFoundException' }),
)

vector.case(
  'bucket.not-empty',
  'a vector bucket with an index is not deleted',
  { source: `${service}/internal/errors/codes.ts` },
  async (t) => {
    const { vectorBucketName } = await vectorBucket(t)
    await t
      .post('vector/DeleteVectorBucket', { vectorBucketName }, { as: 'service' })
      .has(400, { statusCode: '400', code: 'VectorBucketNotEmpty' })
  },
)

vector.case(
  'role',
  'only the service role has vector buckets',
  { source: `${routes}/index.ts` },
  async (t) => {
    await t
      .post('vector/ListVectorBuckets', {}, { as: await t.user() })
      .has(403, { statusCode: '403', message: 'Access denied: Invalid role' })
  },
)

vector.case(
  'index',
  'an index is found and listed',
  { source: `${guide}/working-with-indexes` },
  async (t) => {
    const { vectorBucketName, indexName } = await vectorBucket(t)
    const bucket = t.service.storage.vectors.from(vectorBucketName)
    t.data(
      await bucket.getIndex(indexName),
      partly({ index: partly({ indexName, dimension: 3, distanceMetric: 'cosine' }) }),
    )
    t.data(await bucket.listIndexes(), partly({ indexes: [partly({ indexName })] }))
  },
)

vector.case(
  'index.concurrent',
  'indexes of several buckets are made at the same time',
  // It needs five of the ten vector buckets that a project may have by default.
  { source: `${routes}/create-index.ts`, alone: true },
  async (t) => {
    const names = [1, 2, 3, 4, 5].map(() => t.unique('vectors').replaceAll('_', '-'))
    for (const vectorBucketName of names) {
      const removed = { vectorBucketName, indexName: 'documents' }
      t.after(async () => {
        await t.prepare('POST', '/storage/v1/vector/DeleteIndex', removed).catch(() => undefined)
        await t.prepare('POST', '/storage/v1/vector/DeleteVectorBucket', { vectorBucketName })
      })
      await t.prepare('POST', '/storage/v1/vector/CreateVectorBucket', { vectorBucketName })
    }
    const index = { indexName: 'documents', dataType: 'float32', dimension: 3 }
    const creations = names.map((vectorBucketName) => {
      const body = { ...index, vectorBucketName, distanceMetric: 'cosine' }
      return t.post('vector/CreateIndex', body, { as: 'service' })
    })
    for (const response of await Promise.all(creations)) response.is(200)
  },
)

vector.case(
  'put',
  'vectors are stored with their metadata, listed and deleted',
  { source: `${guide}/storing-vectors` },
  async (t) => {
    const { vectorBucketName, indexName } = await vectorBucket(t)
    const index = t.service.storage.vectors.from(vectorBucketName).index(indexName)
    t.ok(await index.putVectors({ vectors }))
    t.data(
      await index.getVectors({ keys: ['y'], returnData: true, returnMetadata: true }),
      partly({ vectors: [partly(vectors[1] ?? {})] }),
    )
    t.ok(await index.deleteVectors({ keys: ['x', 'z'] }))
    t.data(await index.listVectors(), partly({ vectors: [partly({ key: 'y' })] }))
  },
)

vector.case(
  'query',
  'a query finds the nearest vectors, nearest first',
  { source: `${guide}/querying-vectors` },
  async (t) => {
    const { vectorBucketName, indexName } = await vectorBucket(t)
    const index = t.service.storage.vectors.from(vectorBucketName).index(indexName)
    t.ok(await index.putVectors({ vectors }))
    const near = { queryVector: { float32: [0, 0.4, 1] }, topK: 2, returnDistance: true }
    t.data(
      await index.queryVectors(near),
      partly({
        vectors: [
          partly({ key: 'z', distance: some.number }),
          partly({ key: 'y', distance: some.number }),
        ],
      }),
    )
  },
)

vector.case(
  'query.filter',
  'a query takes a filter of the metadata',
  { source: `${guide}/querying-vectors` },
  async (t) => {
    const { vectorBucketName, indexName } = await vectorBucket(t)
    const index = t.service.storage.vectors.from(vectorBucketName).index(indexName)
    t.ok(await index.putVectors({ vectors }))
    const near = { queryVector: { float32: [0, 0.4, 1] }, topK: 3, returnMetadata: true }
    t.data(
      await index.queryVectors({ ...near, filter: { axis: 'x' } }),
      partly({ vectors: [partly({ key: 'x', metadata: { axis: 'x' } })] }),
    )
  },
)

vector.case(
  'put.dimension',
  "a vector of another length than the index' is refused",
  { source: `${guide}/limits` },
  async (t) => {
    const names = await vectorBucket(t)
    const short = [{ key: 'a', data: { float32: [1, 2] } }]
    await t.post('vector/PutVectors', { ...names, vectors: short }, { as: 'service' }).is(400)
  },
)

export const analytics = group('storage.analytics', {
  title: 'Analytics buckets',
  source: 'https://supabase.com/docs/guides/storage/analytics/creating-analytics-buckets',
  needs: ['service'],
  probe: async (t) => t.present(await t.get('iceberg/bucket', { as: 'service' })),
})

analytics.case('bucket', 'an analytics bucket is made, listed and deleted', async (t) => {
  const name = t.unique('analytics').replaceAll('_', '-')
  t.after(() => t.discard(`/storage/v1/iceberg/bucket/${name}`))
  const buckets = t.service.storage.analytics
  t.data(await buckets.createBucket(name), partly({ name }))
  t.data(await buckets.listBuckets(), including(partly({ name })))
  t.data(await buckets.deleteBucket(name), partly({ message: 'Successfully deleted' }))
  t.data(await buckets.listBuckets({ search: name }), [])
})
