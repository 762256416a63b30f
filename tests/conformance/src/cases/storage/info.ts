import { group } from '../../case.ts'
import { partly, some } from '../../match.ts'

import { bucketOf, form, noSuchBucket, noSuchKey, service, store } from './setup.ts'

const route = `${service}/http/routes/object/getObjectInfo.ts`

export const info = group('storage.info', {
  title: 'Information about objects',
  source: route,
  needs: ['service'],
})

info.case('object', 'the information about an object has these members', async (t) => {
  const bucket = await t.bucket()
  const fields = { cacheControl: '60', metadata: '{"a":1}' }
  await store(t, bucket, 'a/b.csv', form('a,b', 'text/csv', fields))
  await t.get(`object/info/${bucket}/a/b.csv`, { as: 'service' }).has(200, {
    ...{ id: some.uuid, name: 'a/b.csv', version: some.string, bucket_id: bucket, size: 3 },
    ...{ content_type: 'text/csv', cache_control: 'max-age=60', etag: /^"[^"]+"$/ },
    ...{ metadata: { a: 1 }, last_modified: some.time, created_at: some.time },
  })
})

info.case(
  'client',
  'the client library gives the information in camel case',
  { source: 'https://supabase.com/docs/reference/javascript/storage-from-info' },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    t.data(
      await t.service.storage.from(bucket).info('a.txt'),
      partly({ name: 'a.txt', bucketId: bucket, size: 11, lastModified: some.time }),
    )
  },
)

info.case('public', 'information about an object of a public bucket needs no key', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'], { public: true })
  await t.get(`object/info/public/${bucket}/a.txt`, { as: 'nobody' }).has(200, { size: 11 })
})

info.case('private', 'a private bucket has no public information', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  await t.get(`object/info/${bucket}/a.txt`, { as: 'nobody' }).is(400, noSuchBucket)
})

info.case('authenticated', 'information is given at object/info/authenticated, too', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  await t
    .get(`object/info/authenticated/${bucket}/a.txt`, { as: 'service' })
    .has(200, { name: 'a.txt', bucket_id: bucket })
})

info.case('missing', 'there is no information about what is not there', async (t) => {
  await t.get(`object/info/${await t.bucket()}/a.txt`, { as: 'service' }).is(400, noSuchKey)
})

info.case('version', 'a new content is a new version', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  const path = `object/info/${bucket}/a.txt`
  const before = await t.get(path, { as: 'service' })
  await t.put(`object/${bucket}/a.txt`, 'second', { as: 'service' }).is(200)
  const after = await t.get(path, { as: 'service' }).has(200, { id: before.field('id'), size: 6 })
  t.equal(after.field('version') !== before.field('version'), true)
})

info.case(
  'exists',
  'exists tells whether an object is there',
  { source: 'https://supabase.com/docs/reference/javascript/storage-from-exists' },
  async (t) => {
    const bucket = await bucketOf(t, ['a.txt'])
    const files = t.service.storage.from(bucket)
    const there = await files.exists('a.txt')
    t.ok(there)
    const { data } = await files.exists('b.txt')
    t.equal(data, false)
  },
)
