import { group } from '../../case.ts'
import { partly, some, unordered } from '../../match.ts'

import { bucketOf, errorCodes, form, noSuchKey, problem, service, store } from './setup.ts'

const guide = 'https://supabase.com/docs/guides/storage/management/copy-move-objects'
const reference = 'https://supabase.com/docs/reference/javascript/storage-from-'
const related = problem(404, 'InvalidRequest', 'The related resource does not exist')

export const copy = group('storage.copy', {
  title: 'Copies',
  source: `${guide}#copy-objects`,
  needs: ['service'],
})

copy.case('client', 'a copy has the content, and the original stays', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const files = t.service.storage.from(bucket)
  t.data(await files.copy('a.txt', 'b/c.txt'), { path: `${bucket}/b/c.txt` })
  await t.get(`object/${bucket}/b/c.txt`, { as: 'service' }).text(200, 'conformance')
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).text(200, 'conformance')
})

copy.case(
  'response',
  'the response to a copy is the new object',
  { source: `${service}/http/routes/object/copyObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const body = { bucketId: bucket, sourceKey: 'a.txt', destinationKey: 'b.txt' }
    await t.post('object/copy', body, { as: 'service' }).has(200, {
      ...{ Key: `${bucket}/b.txt`, Id: some.uuid, id: some.uuid, name: 'b.txt' },
      ...{ bucket_id: bucket, created_at: some.time, updated_at: some.time },
    })
  },
)

copy.case('bucket', 'an object is copied to another bucket', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const destinationBucket = await t.bucket()
  const files = t.service.storage.from(bucket)
  t.data(await files.copy('a.txt', 'b.txt', { destinationBucket }), {
    path: `${destinationBucket}/b.txt`,
  })
  await t.get(`object/${destinationBucket}/b.txt`, { as: 'service' }).text(200, 'conformance')
})

copy.case(
  'metadata',
  'a copy has the type, the caching and the metadata of the original',
  { source: `${service}/http/routes/object/copyObject.ts` },
  async (t) => {
    const bucket = await t.bucket()
    const fields = { cacheControl: '60', metadata: '{"a":1}' }
    await store(t, bucket, 'a', form('a,b', 'text/csv', fields))
    const body = { bucketId: bucket, sourceKey: 'a', destinationKey: 'b' }
    await t.post('object/copy', body, { as: 'service' }).is(200)
    await t.get(`object/info/${bucket}/b`, { as: 'service' }).has(200, {
      ...{ content_type: 'text/csv', cache_control: 'max-age=60', metadata: { a: 1 } },
    })
  },
)

copy.case(
  'metadata.replace',
  'copyMetadata: false takes the metadata of the request',
  { source: `${service}/http/routes/object/copyObject.ts` },
  async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a', form('a,b', 'text/csv', { metadata: '{"a":1}' }))
    const body = {
      ...{ bucketId: bucket, sourceKey: 'a', destinationKey: 'b', copyMetadata: false },
      metadata: { mimetype: 'text/plain', cacheControl: 'max-age=5' },
    }
    const headers = { 'x-metadata': Buffer.from('{"b":2}').toString('base64') }
    await t.post('object/copy', body, { as: 'service', headers }).is(200)
    await t.get(`object/info/${bucket}/b`, { as: 'service' }).has(200, {
      ...{ content_type: 'text/plain', cache_control: 'max-age=5', metadata: { b: 2 } },
    })
  },
)

copy.case(
  'there',
  'a copy over an object is refused without upsert',
  { source: errorCodes },
  async (t) => {
    const bucket = await bucketOf(t, ['a', 'b'])
    const body = { bucketId: bucket, sourceKey: 'a', destinationKey: 'b' }
    await t
      .post('object/copy', body, { as: 'service' })
      .is(400, problem(409, 'Duplicate', 'The resource already exists', /AlreadyExists$/))
  },
)

copy.case(
  'upsert',
  'a copy with x-upsert replaces an object',
  { source: `${service}/http/routes/object/copyObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a'])
    await store(t, bucket, 'b', 'to be replaced')
    const body = { bucketId: bucket, sourceKey: 'a', destinationKey: 'b' }
    const headers = { 'x-upsert': 'true' }
    await t.post('object/copy', body, { as: 'service', headers }).has(200, { name: 'b' })
    await t.get(`object/${bucket}/b`, { as: 'service' }).text(200, 'conformance')
  },
)

copy.case('missing', 'what is not there is not copied', { source: errorCodes }, async (t) => {
  const body = { bucketId: await t.bucket(), sourceKey: 'a', destinationKey: 'b' }
  await t.post('object/copy', body, { as: 'service' }).is(400, noSuchKey)
})

copy.case(
  'bucket.missing',
  'nothing is copied to a bucket that is not there',
  { source: `${service}/internal/errors/codes.ts` },
  async (t) => {
    const bucketId = await bucketOf(t, ['a'])
    const target = { destinationBucket: t.unique('none'), destinationKey: 'b' }
    await t
      .post('object/copy', { bucketId, sourceKey: 'a', ...target }, { as: 'service' })
      .is(400, related)
  },
)

copy.case('name', 'a copy needs a valid name', { source: errorCodes }, async (t) => {
  const body = { bucketId: await bucketOf(t, ['a']), sourceKey: 'a', destinationKey: 'b#' }
  await t
    .post('object/copy', body, { as: 'service' })
    .is(400, problem(400, 'InvalidKey', 'Invalid key: b#'))
})

export const move = group('storage.move', {
  title: 'Moves',
  source: `${guide}#move-objects`,
  needs: ['service'],
})

move.case('client', 'a moved object is at its new name, and not at the old one', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const files = t.service.storage.from(bucket)
  t.data(await files.move('a.txt', 'b/c.txt'), partly({ message: 'Successfully moved' }))
  await t.get(`object/${bucket}/b/c.txt`, { as: 'service' }).text(200, 'conformance')
  await t.get(`object/${bucket}/a.txt`, { as: 'service' }).is(400, noSuchKey)
})

move.case(
  'same',
  'a moved object keeps its id, its creation and its metadata',
  { source: `${service}/storage/object.ts` },
  async (t) => {
    const bucket = await t.bucket()
    await store(t, bucket, 'a', form('a,b', 'text/csv', { metadata: '{"a":1}' }))
    const before = await t.get(`object/info/${bucket}/a`, { as: 'service' })
    const body = { bucketId: bucket, sourceKey: 'a', destinationKey: 'b' }
    await t.post('object/move', body, { as: 'service' }).has(200, { message: 'Successfully moved' })
    await t.get(`object/info/${bucket}/b`, { as: 'service' }).has(200, {
      ...{ id: before.field('id'), created_at: before.field('created_at'), name: 'b' },
      ...{ content_type: 'text/csv', metadata: { a: 1 } },
    })
  },
)

move.case('bucket', 'an object is moved to another bucket', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  const destinationBucket = await t.bucket()
  const files = t.service.storage.from(bucket)
  t.ok(await files.move('a', 'b', { destinationBucket }))
  await t.get(`object/${destinationBucket}/b`, { as: 'service' }).text(200, 'conformance')
  await t.get(`object/${bucket}/a`, { as: 'service' }).is(400, noSuchKey)
})

move.case('there', 'a move over an object is refused', { source: errorCodes }, async (t) => {
  const bucket = await bucketOf(t, ['a', 'b'])
  const body = { bucketId: bucket, sourceKey: 'a', destinationKey: 'b' }
  await t
    .post('object/move', body, { as: 'service' })
    .is(400, problem(409, 'Duplicate', 'The resource already exists', 'ResourceAlreadyExists'))
  await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
})

move.case('missing', 'what is not there is not moved', { source: errorCodes }, async (t) => {
  const body = { bucketId: await t.bucket(), sourceKey: 'a', destinationKey: 'b' }
  await t.post('object/move', body, { as: 'service' }).is(400, noSuchKey)
})

move.case(
  'bucket.missing',
  'nothing is moved to a bucket that is not there',
  { source: `${service}/internal/errors/codes.ts` },
  async (t) => {
    const bucketId = await bucketOf(t, ['a'])
    const target = { destinationBucket: t.unique('none'), destinationKey: 'b' }
    await t
      .post('object/move', { bucketId, sourceKey: 'a', ...target }, { as: 'service' })
      .is(400, related)
  },
)

export const remove = group('storage.delete', {
  title: 'Deletes',
  source: 'https://supabase.com/docs/guides/storage/management/delete-objects',
  needs: ['service'],
})

remove.case(
  'one',
  'a deleted object is not there any more',
  { source: `${service}/http/routes/object/deleteObject.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['a/b.txt'])
    await t
      .delete(`object/${bucket}/a/b.txt`, { as: 'service' })
      .is(200, { message: 'Successfully deleted' })
    await t.get(`object/${bucket}/a/b.txt`, { as: 'service' }).is(400, noSuchKey)
  },
)

remove.case(
  'one.missing',
  'what is not there is not deleted',
  { source: errorCodes },
  async (t) => {
    await t.delete(`object/${await t.bucket()}/a.txt`, { as: 'service' }).is(400, noSuchKey)
  },
)

remove.case(
  'many',
  'remove deletes the objects of its list, and returns them',
  { source: `${reference}remove` },
  async (t) => {
    const bucket = await bucketOf(t, ['a', 'b/c', 'd'])
    const row = (name: string) =>
      partly({
        ...{ name, bucket_id: bucket, id: some.uuid, created_at: some.time, updated_at: some.time },
        metadata: partly({ size: 11 }),
      })
    t.data(
      await t.service.storage.from(bucket).remove(['a', 'b/c', 'none']),
      unordered(row('a'), row('b/c')),
    )
    await t
      .post(`object/list-v2/${bucket}`, {}, { as: 'service' })
      .has(200, { objects: [partly({ name: 'd' })] })
  },
)

remove.case(
  'many.exact',
  'remove takes names, and not beginnings of names',
  { source: `${reference}remove` },
  async (t) => {
    const bucket = await bucketOf(t, ['a/b'])
    t.data(await t.service.storage.from(bucket).remove(['a', 'a/']), [])
    await t.get(`object/${bucket}/a/b`, { as: 'service' }).text(200, 'conformance')
  },
)

remove.case(
  'many.none',
  'an empty list of names is refused',
  { source: `${service}/http/routes/object/deleteObjects.ts` },
  async (t) => {
    const message = 'body/prefixes must NOT have fewer than 1 items'
    await t
      .delete(`object/${await t.bucket()}`, { as: 'service', body: { prefixes: [] } })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  },
)

remove.case(
  'many.bucket',
  'nothing is removed from a bucket that is not there',
  { source: `${service}/storage/object.ts` },
  (t) =>
    t
      .delete(`object/${t.unique('none')}`, { as: 'service', body: { prefixes: ['a'] } })
      .is(200, []),
)
