import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { including, partly, some } from '../../match.ts'

import { bytes, errorCodes, noSuchBucket, problem, refused, service, store } from './setup.ts'

const reference = 'https://supabase.com/docs/reference/javascript/storage-'
const routes = `${service}/http/routes/bucket`
const limits = `${service}/storage/limits.ts`

export const bucket = group('storage.bucket', {
  title: 'Buckets',
  source: 'https://supabase.com/docs/guides/storage/buckets/creating-buckets',
  needs: ['service'],
})

bucket.case('list', 'a new bucket is in the list', async (t) => {
  const id = await t.bucket({ file_size_limit: 1000 })
  const { data, error } = await t.service.storage.listBuckets()
  t.data({ data, error }, including(partly({ id, public: false, file_size_limit: 1000 })))
})

/** Returns a name for a bucket that the case makes itself, and that is removed after it. */
function ownBucket(t: Context, ending = ''): string {
  const id = `${t.unique('bucket').replaceAll('_', '-')}${ending}`
  t.removesBucket(encodeURIComponent(id))
  return id
}

bucket.case('create', 'a bucket is made with the limits that it is given', async (t) => {
  const id = ownBucket(t)
  const options = { public: true, allowedMimeTypes: ['image/*'], fileSizeLimit: '1MB' }
  t.data(await t.service.storage.createBucket(id, options), { name: id })
  t.data(
    await t.service.storage.getBucket(id),
    partly({
      ...{ id, name: id, public: true, file_size_limit: 1_000_000 },
      allowed_mime_types: ['image/*'],
    }),
  )
})

bucket.case(
  'create.default',
  'a bucket is private and has no limits unless it is asked for',
  { source: `${routes}/createBucket.ts` },
  async (t) => {
    const name = ownBucket(t)
    await t.post('bucket', { name }, { as: 'service' }).is(200, { name })
    // Releases that have versions of objects also say whether the bucket keeps them.
    const expected = partly({
      ...{ id: name, name, owner: /^/, public: false },
      ...{ file_size_limit: null, allowed_mime_types: null },
      ...{ created_at: some.time, updated_at: some.time },
    })
    await t.get(`bucket/${name}`, { as: 'service' }).is(200, expected)
  },
)

bucket.case(
  'create.twice',
  'a second bucket of the same name is refused',
  { source: errorCodes },
  async (t) => {
    const id = await t.bucket()
    await t
      .post('bucket', { id, name: id }, { as: 'service' })
      .is(400, problem(409, 'Duplicate', 'The resource already exists', 'BucketAlreadyExists'))
  },
)

bucket.case(
  'create.nameless',
  'a bucket without a name is refused',
  { source: `${routes}/createBucket.ts` },
  (t) =>
    t
      .post('bucket', { public: true }, { as: 'service' })
      .is(400, problem(400, 'Error', "body must have required property 'name'", 'InvalidRequest')),
)

bucket.case(
  'create.anonymous',
  'without a policy for it, the anonymous role makes no bucket',
  { source: 'https://supabase.com/docs/guides/storage/security/access-control' },
  async (t) => {
    const id = ownBucket(t)
    await t.post('bucket', { id, name: id }).is(400, refused)
  },
)

bucket.case(
  'name.punctuation',
  'a name may have blanks and the punctuation of the rule',
  { source: limits },
  async (t) => {
    const id = ownBucket(t, "_!.*'() &$@=;:+,?-")
    await t.post('bucket', { id, name: id }, { as: 'service' }).is(200, { name: id })
    await t.get(`bucket/${encodeURIComponent(id)}`, { as: 'service' }).has(200, { id, name: id })
  },
)

bucket.case(
  'name.long',
  'a name may have 100 characters, and not 101',
  { source: limits },
  async (t) => {
    const id = ownBucket(t).padEnd(100, 'x')
    t.removesBucket(id)
    await t.post('bucket', { id, name: id }, { as: 'service' }).is(200, { name: id })
    await t
      .post('bucket', { id: `${id}x`, name: `${id}x` }, { as: 'service' })
      .is(400, problem(400, 'Invalid Input', 'Bucket name invalid', 'InvalidBucketName'))
  },
)

/** A name that is refused, and why. */
const wrongNames: [name: string, promise: string, wrong: (id: string) => string][] = [
  ['slash', 'a name with a slash is refused', (id) => `${id}/a`],
  ['blank', 'a name that ends with a blank is refused', (id) => `${id} `],
  ['unicode', 'a name with characters beyond ASCII is refused', (id) => `${id}-ü`],
  ['percent', 'a name with a percent sign is refused', (id) => `${id}%41`],
  ['reserved', 'a name with the ending of analytics buckets is refused', (id) => `${id}--table-s3`],
]

for (const [name, promise, wrong] of wrongNames) {
  bucket.case(`name.${name}`, promise, { source: limits }, async (t) => {
    const id = wrong(ownBucket(t))
    t.removesBucket(encodeURIComponent(id))
    await t
      .post('bucket', { id, name: id }, { as: 'service' })
      .is(400, problem(400, 'Invalid Input', 'Bucket name invalid', 'InvalidBucketName'))
  })
}

/** A size limit as it is given, and as it is kept. */
const sizes: [name: string, promise: string, given: unknown, kept: number | null][] = [
  ['number', 'a size limit is a number of bytes', 100, 100],
  ['text', 'a number as text is a number of bytes', '250', 250],
  ['bytes', 'a size limit has the unit B', '3B', 3],
  ['kilobytes', 'units are decimal, and their case does not matter', '1.5kb', 1500],
  ['megabytes', 'a size limit has the unit MB', '2MB', 2_000_000],
  ['null', 'null is no limit', null, null],
]

for (const [name, promise, given, kept] of sizes) {
  bucket.case(`size.${name}`, promise, { source: limits }, async (t) => {
    const id = ownBucket(t)
    const attributes = { id, name: id, file_size_limit: given }
    await t.post('bucket', attributes, { as: 'service' }).is(200, { name: id })
    await t.get(`bucket/${id}`, { as: 'service' }).has(200, { file_size_limit: kept })
  })
}

bucket.case('size.unit', 'an unknown unit is refused', { source: limits }, async (t) => {
  const id = ownBucket(t)
  await t
    .post('bucket', { id, name: id, file_size_limit: '10XB' }, { as: 'service' })
    .is(400, problem(400, some.string, some.string, 'InvalidRequest'))
})

bucket.case(
  'size.global',
  'a limit above that of the project is refused',
  { source: 'https://supabase.com/docs/guides/storage/uploads/file-limits' },
  async (t) => {
    const id = ownBucket(t)
    const message = 'The object exceeded the maximum allowed size'
    await t
      .post('bucket', { id, name: id, file_size_limit: '999000GB' }, { as: 'service' })
      .is(400, problem(413, 'Payload too large', message, 'EntityTooLarge'))
  },
)

bucket.case(
  'types.empty',
  'empty texts among the types are dropped',
  { source: `${routes}/createBucket.ts` },
  async (t) => {
    const id = ownBucket(t)
    const types = ['', 'text/plain', '']
    await t
      .post('bucket', { id, name: id, allowed_mime_types: types }, { as: 'service' })
      .is(200, { name: id })
    await t.get(`bucket/${id}`, { as: 'service' }).has(200, { allowed_mime_types: ['text/plain'] })
  },
)

bucket.case(
  'types.wrong',
  'a type that is none is refused',
  { source: `${service}/storage/storage.ts` },
  async (t) => {
    const id = ownBucket(t)
    await t
      .post('bucket', { id, name: id, allowed_mime_types: ['image'] }, { as: 'service' })
      .is(
        400,
        problem(415, 'invalid_mime_type', 'mime type image is not supported', 'InvalidMimeType'),
      )
  },
)

/** Makes buckets whose names have a part in common, and returns that part. */
async function family(t: Context, endings: readonly string[]): Promise<string> {
  const common = t.unique('family').replaceAll('_', '-')
  for (const ending of endings) {
    const id = `${common}-${ending}`
    t.removesBucket(id)
    await t.prepare('POST', '/storage/v1/bucket', { id, name: id })
  }
  return common
}

const listing = { source: `${reference}listbuckets` }

bucket.case(
  'list.search',
  'the list is searched for a part of the name, whatever its case',
  listing,
  async (t) => {
    const common = await family(t, ['Abc', 'xyz'])
    const search = `${common}-aB`.slice('conformance'.length).toUpperCase()
    const { data, error } = await t.service.storage.listBuckets({ search })
    t.data({ data, error }, [partly({ id: `${common}-Abc` })])
  },
)

bucket.case(
  'list.search.wildcard',
  'what are wildcards in SQL is searched for as it is',
  { source: `${routes}/getAllBuckets.ts` },
  async (t) => {
    const common = await family(t, ['a_b', 'axb'])
    await t
      .get(`bucket?search=${common}-a_b`, { as: 'service' })
      .is(200, [partly({ id: `${common}-a_b` })])
    await t.get(`bucket?search=${common}%25`, { as: 'service' }).is(200, [])
  },
)

bucket.case('list.sort', 'the list is sorted by a column and an order', listing, async (t) => {
  const search = await family(t, ['b', 'c', 'a'])
  const sorted = (ids: string[]) => ids.map((id) => partly({ id: `${search}-${id}` }))
  const { storage } = t.service
  const byName = { search, sortColumn: 'name', sortOrder: 'desc' } as const
  t.data(await storage.listBuckets(byName), sorted(['c', 'b', 'a']))
  const byTime = { search, sortColumn: 'created_at', sortOrder: 'asc' } as const
  t.data(await storage.listBuckets(byTime), sorted(['b', 'c', 'a']))
})

bucket.case('list.page', 'the list is cut by limit and offset', listing, async (t) => {
  const search = await family(t, ['a', 'b', 'c'])
  const page = { search, sortColumn: 'name', sortOrder: 'asc', limit: 1, offset: 1 } as const
  t.data(await t.service.storage.listBuckets(page), [partly({ id: `${search}-b` })])
})

bucket.case(
  'list.page.wrong',
  'a limit of 0 is refused',
  { source: `${routes}/getAllBuckets.ts` },
  (t) =>
    t
      .get('bucket?limit=0', { as: 'service' })
      .is(400, problem(400, 'Error', 'querystring/limit must be >= 1', 'InvalidRequest')),
)

bucket.case(
  'list.type',
  'the list says of which type a bucket is',
  { source: `${routes}/getAllBuckets.ts` },
  async (t) => {
    const id = await t.bucket()
    await t.get(`bucket?search=${id}`, { as: 'service' }).is(200, [
      partly({
        ...{ id, name: id, owner: /^/, public: false, type: 'STANDARD' },
        ...{ file_size_limit: null, allowed_mime_types: null },
        ...{ created_at: some.time, updated_at: some.time },
      }),
    ])
  },
)

bucket.case(
  'list.hidden',
  'a bucket that no policy shows is not in the list',
  { source: `${reference}listbuckets`, needs: ['sql'] },
  async (t) => {
    const id = await t.bucket()
    await t.get(`bucket?search=${id}`).is(200, [])
  },
)

bucket.case('get.missing', 'a bucket that is not there is not found', { source: errorCodes }, (t) =>
  t.get(`bucket/${t.unique('none')}`, { as: 'service' }).is(400, noSuchBucket),
)

bucket.case(
  'get.hidden',
  'a bucket that no policy shows is not found',
  { source: errorCodes, needs: ['sql'] },
  async (t) => {
    await t.get(`bucket/${await t.bucket()}`).is(400, noSuchBucket)
  },
)

bucket.case(
  'update',
  'an update sets what it names',
  { source: `${reference}updatebucket` },
  async (t) => {
    const id = await t.bucket()
    const options = { public: true, fileSizeLimit: 7, allowedMimeTypes: ['text/csv'] }
    t.data(await t.service.storage.updateBucket(id, options), { message: 'Successfully updated' })
    t.data(
      await t.service.storage.getBucket(id),
      partly({ public: true, file_size_limit: 7, allowed_mime_types: ['text/csv'] }),
    )
  },
)

bucket.case(
  'update.null',
  'an update with null removes a limit, and leaves what it does not name',
  { source: `${routes}/updateBucket.ts` },
  async (t) => {
    const id = await t.bucket({ file_size_limit: 5, allowed_mime_types: ['text/csv'] })
    await t
      .put(`bucket/${id}`, { file_size_limit: null }, { as: 'service' })
      .is(200, { message: 'Successfully updated' })
    await t
      .get(`bucket/${id}`, { as: 'service' })
      .has(200, { file_size_limit: null, allowed_mime_types: ['text/csv'], public: false })
  },
)

bucket.case(
  'update.nothing',
  'an update that names nothing is refused',
  { source: `${routes}/updateBucket.ts` },
  async (t) => {
    await t
      .put(`bucket/${await t.bucket()}`, {}, { as: 'service' })
      .has(400, { statusCode: '400', code: 'InvalidRequest' })
  },
)

bucket.case(
  'update.missing',
  'a bucket that is not there is not updated',
  { source: errorCodes },
  (t) =>
    t.put(`bucket/${t.unique('none')}`, { public: true }, { as: 'service' }).is(400, noSuchBucket),
)

bucket.case(
  'update.public',
  'a bucket that is made private serves no more without a key',
  { source: 'https://supabase.com/docs/guides/storage/buckets/fundamentals' },
  async (t) => {
    const id = await t.bucket({ public: true })
    await store(t, id, 'a.txt')
    await t.get(`object/public/${id}/a.txt`, { as: 'nobody' }).bytes(200, bytes('conformance'))
    t.ok(await t.service.storage.updateBucket(id, { public: false }))
    // Another query, since a cache may keep the first response for a while.
    await t.get(`object/public/${id}/a.txt?v=2`, { as: 'nobody' }).is(400, noSuchBucket)
  },
)

bucket.case(
  'empty',
  'a bucket is emptied of all objects',
  { source: `${reference}emptybucket` },
  async (t) => {
    const id = await t.bucket()
    await store(t, id, 'a.txt')
    await store(t, id, 'b/c.txt')
    const message = 'Empty bucket has been queued. Completion may take up to an hour.'
    t.data(await t.service.storage.emptyBucket(id), { message })
    // The work may go on after the response.
    const list = `/storage/v1/object/list-v2/${id}`
    const end = performance.now() + t.patience
    const left = async () => ((await t.prepare('POST', list, {})).objects as unknown[]).length
    while ((await left()) > 0 && performance.now() < end) await t.pause(100)
    await t.post(list, {}, { as: 'service' }).has(200, { objects: [] })
  },
)

bucket.case(
  'empty.role',
  'only the service role empties a bucket',
  { source: `${routes}/index.ts` },
  async (t) => {
    await t
      .post(`bucket/${await t.bucket()}/empty`, {}, { as: await t.user() })
      .is(403, problem(403, 'Unauthorized', 'Access denied: Invalid role', 'AccessDenied'))
  },
)

bucket.case(
  'empty.missing',
  'a bucket that is not there is not emptied',
  { source: errorCodes },
  (t) => t.post(`bucket/${t.unique('none')}/empty`, {}, { as: 'service' }).is(400, noSuchBucket),
)

bucket.case(
  'delete',
  'a deleted bucket is not found any more',
  { source: `${reference}deletebucket` },
  async (t) => {
    const id = await t.bucket()
    t.data(await t.service.storage.deleteBucket(id), { message: 'Successfully deleted' })
    t.error(await t.service.storage.getBucket(id), partly({ status: 400, statusCode: '404' }))
  },
)

bucket.case(
  'delete.not-empty',
  'a bucket with objects is not deleted',
  { source: `${reference}deletebucket` },
  async (t) => {
    const id = await t.bucket()
    await store(t, id, 'a.txt')
    const message = 'The bucket you tried to delete is not empty'
    await t
      .delete(`bucket/${id}`, { as: 'service' })
      .is(400, problem(409, 'ResourceNotEmpty', message))
  },
)

bucket.case(
  'delete.missing',
  'a bucket that is not there is not deleted',
  { source: errorCodes },
  (t) => t.delete(`bucket/${t.unique('none')}`, { as: 'service' }).is(400, noSuchBucket),
)
