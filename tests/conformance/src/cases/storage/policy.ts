import { group } from '../../case.ts'
import type { Context, User } from '../../context.ts'
import { partly, some } from '../../match.ts'

import { bucketOf, form, noSuchBucket, noSuchKey, problem, refused, service } from './setup.ts'
import { store } from './setup.ts'

const guide = 'https://supabase.com/docs/guides/storage/security/access-control'
const reference = 'https://supabase.com/docs/reference/javascript/storage-from-'

export const policy = group('storage.policy', {
  title: 'Policies',
  source: `${guide}#access-policies`,
  needs: ['service', 'sql'],
})

policy.case('own', 'a user writes and reads where a policy says so', async (t) => {
  const bucket = await t.bucket()
  const { id, client } = await t.user()
  const files = client.storage.from(bucket)
  t.ok(await files.upload(`${id}/a.txt`, 'mine', { contentType: 'text/plain' }))
  const { data, error } = await files.download(`${id}/a.txt`)
  t.data({ data: await data?.text(), error }, 'mine')
})

policy.case('upload.other', 'nobody uploads where no policy allows it', async (t) => {
  const bucket = await t.bucket()
  const user = await t.user()
  await t.post(`object/${bucket}/other/a.txt`, 'a', { as: user }).is(400, refused)
  await t.post(`object/${bucket}/a.txt`, 'a').is(400, refused)
})

policy.case('upload.anonymous', 'a policy may let the anonymous role upload', async (t) => {
  const bucket = await t.bucket()
  await t
    .post(`object/${bucket}/open/a.txt`, 'a')
    .is(200, { Key: `${bucket}/open/a.txt`, Id: some.uuid })
})

policy.case('upload.insert', 'INSERT alone is enough to upload', async (t) => {
  const bucket = await t.bucket()
  const path = `object/${bucket}/insert-only/a.txt`
  await t.post(path, 'a').is(200)
  await t.get(path).is(400, noSuchKey)
  await t.get(path, { as: 'service' }).text(200, 'a')
})

policy.case('upsert.select', 'an upsert needs SELECT, even for a new name', async (t) => {
  const bucket = await t.bucket()
  const headers = { 'x-upsert': 'true' }
  await t.post(`object/${bucket}/insert-only/a`, 'a', { headers }).is(400, refused)
  await t.post(`object/${bucket}/no-update/a`, 'a', { headers }).is(200)
})

policy.case('upsert.update', 'an upsert over an object needs UPDATE', async (t) => {
  const bucket = await bucketOf(t, ['no-update/a', 'open/a'])
  const headers = { 'x-upsert': 'true' }
  await t.post(`object/${bucket}/no-update/a`, 'second', { headers }).is(400, refused)
  await t.get(`object/${bucket}/no-update/a`).text(200, 'conformance')
  await t.post(`object/${bucket}/open/a`, 'second', { headers }).is(200)
  await t.get(`object/${bucket}/open/a`).text(200, 'second')
})

policy.case(
  'upload.there',
  'whether a name is taken is not told to whom may not upload',
  { source: `${service}/storage/uploader.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['shared/a', 'open/a'])
    await t.post(`object/${bucket}/shared/a`, 'a').is(400, refused)
    await t
      .post(`object/${bucket}/open/a`, 'a')
      .is(400, problem(409, 'Duplicate', 'The resource already exists', 'KeyAlreadyExists'))
  },
)

policy.case('read.shared', 'what a policy shows to all is given to all', async (t) => {
  const bucket = await bucketOf(t, ['shared/a.txt'])
  await t.get(`object/${bucket}/shared/a.txt`).text(200, 'conformance')
  await t
    .get(`object/authenticated/${bucket}/shared/a.txt`, { as: await t.user() })
    .text(200, 'conformance')
})

/** What is asked about an object that is hidden from the caller. */
const hidden: [
  name: string,
  promise: string,
  source: string,
  ask: (t: Context, as: User, bucket: string) => unknown,
][] = [
  [
    ...(['download', 'a hidden object is not given', 'download'] as const),
    (t, as, bucket) => t.get(`object/${bucket}/a/b`, { as }).is(400, noSuchKey),
  ],
  [
    ...(['info', 'there is no information about a hidden object', 'info'] as const),
    (t, as, bucket) => t.get(`object/info/${bucket}/a/b`, { as }).is(400, noSuchKey),
  ],
  [
    ...(['sign', 'a hidden object is not signed', 'createsignedurl'] as const),
    (t, as, bucket) =>
      t.post(`object/sign/${bucket}/a/b`, { expiresIn: 60 }, { as }).is(400, noSuchKey),
  ],
  [
    ...(['sign.many', 'among several, a hidden object is not signed', 'createsignedurls'] as const),
    (t, as, bucket) =>
      t.post(`object/sign/${bucket}`, { expiresIn: 60, paths: ['a/b'] }, { as }).is(200, [
        {
          error: 'Either the object does not exist or you do not have access to it',
          ...{ path: 'a/b', signedURL: null },
        },
      ]),
  ],
  [
    ...(['list', 'a hidden object is not in a list', 'list'] as const),
    (t, as, bucket) => t.post(`object/list/${bucket}`, { prefix: 'a' }, { as }).is(200, []),
  ],
  [
    ...(['list-v2', 'a hidden object is not in a list by cursor', 'listv2'] as const),
    (t, as, bucket) =>
      t
        .post(`object/list-v2/${bucket}`, {}, { as })
        .is(200, { hasNext: false, folders: [], objects: [] }),
  ],
  [
    ...(['remove', 'a hidden object is not removed', 'remove'] as const),
    (t, as, bucket) =>
      t.delete(`object/${bucket}`, { as, body: { prefixes: ['a/b'] } }).is(200, []),
  ],
  [
    ...(['copy', 'a hidden object is not copied', 'copy'] as const),
    (t, as, bucket) => {
      const body = { bucketId: bucket, sourceKey: 'a/b', destinationKey: `${as.id}/b` }
      return t.post('object/copy', body, { as }).is(400, noSuchKey)
    },
  ],
  [
    ...(['move', 'a hidden object is not moved', 'move'] as const),
    (t, as, bucket) => {
      const body = { bucketId: bucket, sourceKey: 'a/b', destinationKey: `${as.id}/b` }
      return t.post('object/move', body, { as }).is(400, noSuchKey)
    },
  ],
]

for (const [name, promise, page, ask] of hidden) {
  policy.case(`hidden.${name}`, promise, { source: `${reference}${page}` }, async (t) => {
    const bucket = await bucketOf(t, ['a/b'])
    await ask(t, await t.user(), bucket)
  })
}

policy.case(
  'delete.other',
  'an object that may not be deleted is refused one by one, and left out among many',
  { source: `${service}/storage/object.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['shared/a'])
    const as = await t.user()
    await t
      .delete(`object/${bucket}/shared/a`, { as })
      .is(400, problem(403, 'Unauthorized', 'Access denied', 'AccessDenied'))
    await t.delete(`object/${bucket}`, { as, body: { prefixes: ['shared/a'] } }).is(200, [])
    await t.get(`object/${bucket}/shared/a`, { as }).text(200, 'conformance')
  },
)

policy.case(
  'delete.own',
  'a user deletes where a policy says so',
  { source: `${reference}remove` },
  async (t) => {
    const bucket = await t.bucket()
    const { id, client } = await t.user()
    await store(t, bucket, `${id}/a`)
    t.data(await client.storage.from(bucket).remove([`${id}/a`]), [partly({ name: `${id}/a` })])
    await t.get(`object/${bucket}/${id}/a`, { as: 'service' }).is(400, noSuchKey)
  },
)

const copying = 'https://supabase.com/docs/guides/storage/management/copy-move-objects#permissions'

policy.case(
  'copy',
  'a copy needs SELECT on the source and INSERT on the target, and is owned by its maker',
  { source: copying },
  async (t) => {
    const bucket = await bucketOf(t, ['shared/a'])
    const as = await t.user()
    const target = { destinationKey: `${as.id}/a` }
    await t
      .post('object/copy', { bucketId: bucket, sourceKey: 'shared/a', ...target }, { as })
      .has(200, { name: `${as.id}/a`, owner_id: as.id })
    await t
      .post(
        'object/copy',
        { bucketId: bucket, sourceKey: 'shared/a', destinationKey: 'shared/b' },
        { as },
      )
      .is(400, refused)
  },
)

policy.case(
  'move',
  'a move needs UPDATE on the source, and the new name has to be allowed',
  { source: `${reference}move` },
  async (t) => {
    const bucket = await t.bucket()
    const as = await t.user()
    await store(t, bucket, `${as.id}/a`)
    await store(t, bucket, 'shared/a')
    const moved = (sourceKey: string, destinationKey: string) =>
      t.post('object/move', { bucketId: bucket, sourceKey, destinationKey }, { as })
    await moved('shared/a', `${as.id}/c`).is(400, noSuchKey)
    await moved(`${as.id}/a`, 'shared/b').is(400, refused)
    await moved(`${as.id}/a`, `${as.id}/b`).has(200, { message: 'Successfully moved' })
  },
)

policy.case(
  'owner',
  'a policy tells objects by their owner',
  { source: 'https://supabase.com/docs/guides/storage/security/ownership#access-control' },
  async (t) => {
    const bucket = await t.bucket()
    const [owner, other] = [await t.user(), await t.user()]
    const path = `object/${bucket}/mine/a`
    await t.post(path, 'a', { as: owner }).is(200)
    await t.get(path, { as: owner }).text(200, 'a')
    await t.get(path, { as: other }).is(400, noSuchKey)
    await t
      .delete(path, { as: other })
      .is(400, problem(403, 'Unauthorized', 'Access denied', 'AccessDenied'))
    await t.delete(path, { as: owner }).is(200, { message: 'Successfully deleted' })
  },
)

policy.case(
  'metadata.type',
  'a policy sees the ending of the name, and the type of an upload',
  { source: 'https://supabase.com/docs/guides/storage/schema/helper-functions#storageextension' },
  async (t) => {
    const bucket = await t.bucket()
    const as = await t.user()
    const png = { as, headers: { 'content-type': 'image/png' } }
    await t.post(`object/${bucket}/pictures/a.png`, 'a', png).is(200)
    await t.post(`object/${bucket}/pictures/a.gif`, 'a', png).is(400, refused)
    await t.post(`object/${bucket}/pictures/b.png`, 'a', { as }).is(400, refused)
  },
)

policy.case(
  'metadata.user',
  "a policy sees the user's metadata of an upload",
  { source: `${service}/storage/uploader.ts` },
  async (t) => {
    const bucket = await t.bucket()
    const as = await t.user()
    const tagged = (tag: string) => form('a', 'text/plain', { metadata: JSON.stringify({ tag }) })
    await t.post(`object/${bucket}/tagged/a`, tagged('no'), { as }).is(400, refused)
    await t.post(`object/${bucket}/tagged/a`, tagged('yes'), { as }).is(200)
  },
)

policy.case(
  'operation',
  'a policy sees what is being done',
  { source: `${service}/http/routes/operations.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['listed/a'])
    await t
      .post(`object/list/${bucket}`, { prefix: 'listed' })
      .is(200, [partly({ name: 'a', id: some.uuid })])
    await t.get(`object/${bucket}/listed/a`).is(400, noSuchKey)
  },
)

policy.case(
  'sign-upload',
  'an upload is signed for whom may upload, and is owned by the signer',
  { source: `${reference}createsigneduploadurl` },
  async (t) => {
    const bucket = await t.bucket()
    const as = await t.user()
    await t.post(`object/upload/sign/${bucket}/other/a`, {}, { as }).is(400, refused)
    const { data, error } = await as.client.storage.from(bucket).createSignedUploadUrl(`${as.id}/a`)
    t.ok({ error })
    const path = `object/upload/sign/${bucket}/${as.id}/a?token=${data?.token ?? ''}`
    await t.put(path, 'a', { as: 'nobody' }).is(200)
    await t
      .delete(`object/${bucket}`, { as: 'service', body: { prefixes: [`${as.id}/a`] } })
      .is(200, [partly({ owner_id: as.id })])
  },
)

policy.case(
  'bucket',
  'a policy lets users have buckets of their own',
  { source: 'https://supabase.com/docs/reference/javascript/storage-createbucket' },
  async (t) => {
    const [owner, other] = [await t.user(), await t.user()]
    const id = t.unique('own').replace('conformance_', 'conformance-own-').replaceAll('_', '-')
    t.removesBucket(id)
    t.data(await owner.client.storage.createBucket(id), { name: id })
    t.ok(await owner.client.storage.updateBucket(id, { public: true }))
    await t.put(`bucket/${id}`, { public: false }, { as: other }).is(400, noSuchBucket)
    await t.delete(`bucket/${id}`, { as: other }).is(400, noSuchBucket)
    await t.get(`bucket/${id}`, { as: owner }).has(200, { public: true, owner: owner.id })
    await t.delete(`bucket/${id}`, { as: owner }).is(200, { message: 'Successfully deleted' })
  },
)

export const schema = group('storage.schema', {
  title: 'Storage in SQL',
  source: 'https://supabase.com/docs/guides/storage/schema/design',
  needs: ['service', 'sql'],
})

const rpc = '/rest/v1/rpc/conformance'
const helpers = 'https://supabase.com/docs/guides/storage/schema/helper-functions'

schema.case('names', 'functions of SQL take a name apart', { source: helpers }, async (t) => {
  await t
    .post(`${rpc}_storage_names`, { name: 'public/subfolder/avatar.png' })
    .is(200, { file: 'avatar.png', folders: ['public', 'subfolder'], extension: 'png' })
  await t
    .post(`${rpc}_storage_names`, { name: 'avatar.tar.gz' })
    .is(200, { file: 'avatar.tar.gz', folders: [], extension: 'gz' })
})

schema.case('objects', 'objects are rows of a table', async (t) => {
  const bucket = await t.bucket()
  await store(t, bucket, 'a/b.csv', form('a,b', 'text/csv', { cacheControl: '60' }))
  await t.post(`${rpc}_stored`, { bucket }, { as: 'service' }).is(200, [
    {
      ...{ name: 'a/b.csv', owner_id: null, path_tokens: ['a', 'b.csv'], version: some.string },
      metadata: partly({ size: 3, mimetype: 'text/csv', cacheControl: 'max-age=60' }),
    },
  ])
})

schema.case(
  'bucket',
  'a bucket that was made in SQL is there at once',
  { source: 'https://supabase.com/docs/guides/storage/buckets/creating-buckets' },
  async (t) => {
    const id = t.unique('sql').replaceAll('_', '-')
    t.removesBucket(id)
    await t.prepare('POST', `${rpc}_insert_bucket`, { id })
    await t.post(`object/${id}/a.txt`, 'a', { as: 'service' }).is(200)
    await t.get(`object/public/${id}/a.txt`, { as: 'nobody' }).text(200, 'a')
  },
)

schema.case(
  'delete',
  'objects are not deleted in SQL',
  {
    source:
      'https://github.com/supabase/storage/blob/master/migrations/tenant/0055-prevent-direct-deletes.sql',
  },
  async (t) => {
    const bucket = await bucketOf(t, ['a'])
    await t
      .post(`${rpc}_delete_objects`, { bucket }, { as: 'service' })
      .has(403, { code: '42501', message: /^Direct deletion from storage tables is not allowed/ })
    await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'conformance')
  },
)
