import { createHash } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'

import { s3, s3Problem, xml } from './s3-request.ts'
import { bucketOf, bytes, service, store } from './setup.ts'

const guide = 'https://supabase.com/docs/guides/storage/s3/compatibility'
const buckets = `${guide}#bucket-operations`
const objects = `${guide}#object-operations`
const handler = `${service}/storage/protocols/s3/s3-handler.ts`

export const s3Bucket = group('storage.s3-bucket', {
  title: 'S3: buckets',
  source: buckets,
  needs: ['service', 's3'],
})

s3Bucket.case('list', 'the list of buckets has a bucket', async (t) => {
  const id = await t.bucket()
  await s3(t, 'GET', '/').text(200, xml(['<ListAllMyBucketsResult', `<Name>${id}</Name>`]))
})

s3Bucket.case('create', 'a bucket is made, and is one of the other interfaces', async (t) => {
  const id = t.unique('made').replaceAll('_', '-')
  t.removesBucket(id)
  await s3(t, 'PUT', `/${id}`).is(200).header('location', `/${id}`)
  await t.get(`bucket/${id}`, { as: 'service' }).has(200, { id, public: false })
  await s3(t, 'PUT', `/${id}`).text(409, s3Problem('BucketAlreadyExists'))
})

s3Bucket.case(
  'create.public',
  'x-amz-acl: public-read makes a public bucket',
  { source: handler },
  async (t) => {
    const id = t.unique('made').replaceAll('_', '-')
    t.removesBucket(id)
    await s3(t, 'PUT', `/${id}`, { headers: { 'x-amz-acl': 'public-read' } }).is(200)
    await t.get(`bucket/${id}`, { as: 'service' }).has(200, { public: true })
  },
)

s3Bucket.case('head', 'HEAD tells whether a bucket is there', async (t) => {
  await s3(t, 'HEAD', `/${await t.bucket()}`).empty(200)
  await s3(t, 'HEAD', `/${t.unique('none').replaceAll('_', '-')}`).empty(404)
})

s3Bucket.case('location', 'the location of a bucket is told', async (t) => {
  await s3(t, 'GET', `/${await t.bucket()}`, { query: { location: '' } }).text(
    200,
    xml(['LocationConstraint']),
  )
})

s3Bucket.case(
  'versioning',
  'a bucket keeps no versions',
  { source: `${service}/http/routes/s3/commands/get-bucket.ts` },
  async (t) => {
    const query = { versioning: '' }
    await s3(t, 'GET', `/${await t.bucket()}`, { query }).text(
      200,
      xml(['<VersioningConfiguration', '<Status>Suspended</Status>']),
    )
  },
)

s3Bucket.case('delete', 'an empty bucket is deleted', async (t) => {
  const id = await t.bucket()
  await store(t, id, 'a')
  await s3(t, 'DELETE', `/${id}`).text(409, s3Problem('ResourceNotEmpty'))
  await t.prepare('DELETE', `/storage/v1/object/${id}/a`)
  await s3(t, 'DELETE', `/${id}`).empty(204)
  await s3(t, 'DELETE', `/${id}`).text(404, s3Problem('NoSuchBucket'))
})

export const s3Object = group('storage.s3-object', {
  title: 'S3: objects',
  source: objects,
  needs: ['service', 's3'],
})

const text = bytes('conformance')

s3Object.case('put', 'an object is stored, and is one of the other interfaces', async (t) => {
  const bucket = await t.bucket()
  const headers = { 'content-type': 'text/csv', 'cache-control': 'max-age=60' }
  await s3(t, 'PUT', `/${bucket}/a b/c.csv`, { body: text, headers })
    .is(200)
    .header('etag', `"${createHash('md5').update(text).digest('hex')}"`)
  await t
    .get(`object/${bucket}/a%20b/c.csv`, { as: 'service' })
    .bytes(200, text)
    .header('content-type', /^text\/csv/)
    .header('cache-control', 'max-age=60')
})

s3Object.case('put.twice', 'a second object of a name replaces the first', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  await s3(t, 'PUT', `/${bucket}/a`, { body: bytes('second') }).is(200)
  await t.get(`object/${bucket}/a`, { as: 'service' }).text(200, 'second')
})

s3Object.case('put.limits', "the bucket's limits hold", { source: handler }, async (t) => {
  const bucket = await t.bucket({ file_size_limit: 10, allowed_mime_types: ['image/*'] })
  const put = (type: string, body: Uint8Array<ArrayBuffer>) =>
    s3(t, 'PUT', `/${bucket}/a`, { body, headers: { 'content-type': type } })
  await put('image/png', text).text(413, s3Problem('EntityTooLarge'))
  await put('text/css', bytes('a')).text(415, s3Problem('InvalidMimeType'))
  await put('image/png', bytes('a')).is(200)
})

s3Object.case('put.name', 'an object needs a valid name', { source: handler }, async (t) => {
  await s3(t, 'PUT', `/${await t.bucket()}/a#b`, { body: text }).text(400, s3Problem('InvalidKey'))
})

s3Object.case(
  'put.folder',
  'a name with a slash at its end is an empty folder',
  { source: handler },
  async (t) => {
    const bucket = await t.bucket()
    await s3(t, 'PUT', `/${bucket}/folder/`, { headers: { 'content-length': '0' } }).is(200)
    await t
      .get(`object/info/${bucket}/folder/.emptyFolderPlaceholder`, { as: 'service' })
      .has(200, { size: 0 })
  },
)

s3Object.case('get', 'an object is given with its headers', async (t) => {
  const bucket = await t.bucket()
  await s3(t, 'PUT', `/${bucket}/a`, {
    body: text,
    headers: { 'content-type': 'text/csv', 'x-amz-meta-colour': 'blue' },
  }).is(200)
  await s3(t, 'GET', `/${bucket}/a`)
    .bytes(200, text)
    .header('content-type', /^text\/csv/)
    .header('etag', /^"[^"]+"$/)
    .header('last-modified', /GMT$/)
    .header('x-amz-meta-colour', 'blue')
  await s3(t, 'HEAD', `/${bucket}/a`)
    .empty(200)
    .header('content-length', '11')
    .header('x-amz-meta-colour', 'blue')
})

s3Object.case('get.range', 'a part of an object is given', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  await s3(t, 'GET', `/${bucket}/a`, { headers: { range: 'bytes=3-5' } })
    .text(206, 'for')
    .header('content-range', 'bytes 3-5/11')
})

s3Object.case('get.condition', 'what is known already is not sent again', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  const etag = (await s3(t, 'HEAD', `/${bucket}/a`)).headerValue('etag')
  await s3(t, 'GET', `/${bucket}/a`, { headers: { 'if-none-match': etag } }).empty(304)
})

s3Object.case(
  'get.response',
  'the query says what headers a response has',
  { source: handler },
  async (t) => {
    const bucket = await bucketOf(t, ['a'])
    const query = {
      'response-content-type': 'text/css',
      'response-content-disposition': 'attachment; filename="b.css"',
      'response-cache-control': 'no-store',
    }
    await s3(t, 'GET', `/${bucket}/a`, { query })
      .bytes(200, text)
      .header('content-type', /^text\/css/)
      .header('content-disposition', query['response-content-disposition'])
      .header('cache-control', 'no-store')
  },
)

s3Object.case('get.missing', 'what is not there is not found', async (t) => {
  const bucket = await t.bucket()
  await s3(t, 'GET', `/${bucket}/a`).text(404, s3Problem('NoSuchKey'))
  await s3(t, 'HEAD', `/${bucket}/a`).empty(404)
})

s3Object.case('tagging', 'an object has no tags', { source: handler }, async (t) => {
  const bucket = await bucketOf(t, ['a'])
  await s3(t, 'GET', `/${bucket}/a`, { query: { tagging: '' } }).text(
    200,
    xml(['<Tagging', '<TagSet'], ['<Tag>']),
  )
})

s3Object.case('copy', 'an object is copied', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  const headers = { 'x-amz-copy-source': `/${bucket}/a` }
  await s3(t, 'PUT', `/${bucket}/c`, { headers }).text(200, xml(['<CopyObjectResult', '<ETag>']))
  await t.get(`object/${bucket}/c`, { as: 'service' }).bytes(200, text)
})

s3Object.case('copy.replace', 'a copy takes new metadata', async (t) => {
  const bucket = await t.bucket()
  await s3(t, 'PUT', `/${bucket}/a`, { body: text, headers: { 'x-amz-meta-old': '1' } }).is(200)
  const headers = {
    'x-amz-copy-source': `${bucket}/a`,
    'x-amz-metadata-directive': 'REPLACE',
    'content-type': 'text/css',
    'x-amz-meta-new': '2',
  }
  await s3(t, 'PUT', `/${bucket}/b`, { headers }).text(200, xml(['<CopyObjectResult']))
  await s3(t, 'HEAD', `/${bucket}/b`)
    .empty(200)
    .header('content-type', /^text\/css/)
    .header('x-amz-meta-new', '2')
    .header('x-amz-meta-old', null)
})

s3Object.case('delete', 'an object is deleted, and what is not there, too', async (t) => {
  const bucket = await bucketOf(t, ['a'])
  await s3(t, 'DELETE', `/${bucket}/a`).empty(204)
  await s3(t, 'HEAD', `/${bucket}/a`).empty(404)
  await s3(t, 'DELETE', `/${bucket}/a`).empty(204)
})

s3Object.case('delete.many', 'several objects are deleted', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b', 'c'])
  const named = (key: string) => `<Object><Key>${key}</Key></Object>`
  const body = bytes(`<Delete>${named('a')}${named('c')}</Delete>`)
  const headers = { 'content-type': 'application/xml' }
  await s3(t, 'POST', `/${bucket}`, { query: { delete: '' }, body, headers }).text(
    200,
    xml(['<DeleteResult', '<Deleted>', '<Key>a</Key>', '<Key>c</Key>']),
  )
  const names = { query: { 'list-type': '2' } }
  await s3(t, 'GET', `/${bucket}`, names).text(200, xml(['<Key>b</Key>', '<KeyCount>1</KeyCount>']))
})

export const s3List = group('storage.s3-list', {
  title: 'S3: lists',
  source: objects,
  needs: ['service', 's3'],
})

/** Asks for a list of a bucket, and expects that these parts are in it, whatever their order, and those not. */
function lists(
  t: Context,
  bucket: string,
  query: Record<string, string>,
  there: string[],
  absent: string[] = [],
) {
  const expected = xml(['<ListBucketResult', ...there], absent)
  return s3(t, 'GET', `/${bucket}`, { query }).text(200, expected)
}

const v2 = { 'list-type': '2' }

s3List.case('all', 'a list has the objects with their sizes and ETags', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b/c'])
  await lists(t, bucket, v2, [
    ...[`<Name>${bucket}</Name>`, '<Key>a</Key>', '<Key>b/c</Key>', '<Size>11</Size>', '<ETag>'],
    ...['<KeyCount>2</KeyCount>', '<IsTruncated>false</IsTruncated>'],
  ])
})

s3List.case('prefix', 'a list has the names that begin with a prefix', async (t) => {
  const bucket = await bucketOf(t, ['ab', 'ac', 'b'])
  await lists(t, bucket, { ...v2, prefix: 'a' }, ['<Key>ab<', '<Key>ac<', '<KeyCount>2<'])
})

s3List.case('delimiter', 'a delimiter makes common prefixes', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b/c', 'b/d'])
  const there = ['<Key>a<', '<CommonPrefixes><Prefix>b/</Prefix></CommonPrefixes>', '<KeyCount>2<']
  await lists(t, bucket, { ...v2, delimiter: '/' }, there, ['<Key>b'])
})

s3List.case('page', 'a list is continued by its token', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b', 'c'])
  const query = { ...v2, 'max-keys': '2' }
  const there = ['<Key>a<', '<Key>b<', '<IsTruncated>true<', '<MaxKeys>2<']
  const first = await lists(t, bucket, query, there, ['<Key>c<'])
  const body = new TextDecoder().decode(first.exchange.body)
  const token = /<NextContinuationToken>([^<]+)</.exec(body)?.[1] ?? ''
  const rest = ['<Key>c<', '<IsTruncated>false<']
  await lists(t, bucket, { ...query, 'continuation-token': token }, rest, ['<Key>[ab]<'])
})

s3List.case('start-after', 'a list begins after a name', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b', 'c'])
  await lists(t, bucket, { ...v2, 'start-after': 'a' }, ['<Key>b<', '<Key>c<'], ['<Key>a<'])
})

s3List.case('first', 'the first kind of list is continued by a marker', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b', 'c'])
  await lists(t, bucket, { marker: 'a' }, ['<Key>b<', '<Key>c<'], ['<Key>a<'])
})

s3List.case('wrong', 'the number of keys is a number', { source: handler }, async (t) => {
  const query = { ...v2, 'max-keys': 'many' }
  await s3(t, 'GET', `/${await t.bucket()}`, { query }).text(400, s3Problem('InvalidRequest'))
})

s3List.case('missing', 'a bucket that is not there has no list', async (t) => {
  await s3(t, 'GET', `/${t.unique('none').replaceAll('_', '-')}`, { query: v2 }).text(
    404,
    s3Problem('NoSuchBucket'),
  )
})
