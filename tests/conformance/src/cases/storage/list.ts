import { group } from '../../case.ts'
import { partly, some, unordered } from '../../match.ts'

import { bucketOf, form, problem, service, store } from './setup.ts'

const reference = 'https://supabase.com/docs/reference/javascript/storage-from-list'
const route = `${service}/http/routes/object/listObjects.ts`
const search =
  'https://github.com/supabase/storage/blob/master/migrations/tenant/0063-fix-search-name-relative-to-prefix.sql'

export const list = group('storage.list', {
  title: 'Lists of a folder',
  source: reference,
  needs: ['service'],
})

const names = ['b.txt', 'a.txt', 'dir/c.txt', 'dir/sub/d.txt', 'dir/sub/e.txt']

/** Entries of a list, of which only the names are told. */
const named = (...all: string[]) => all.map((name) => partly({ name }))

/** Returns a folder in a list. */
const folder = (name: string) => ({
  ...{ name, id: null, updated_at: null, created_at: null, last_accessed_at: null },
  metadata: null,
})

list.case('root', 'a list has the files of the root, and one entry for each folder', async (t) => {
  const bucket = await bucketOf(t, names)
  t.data(await t.service.storage.from(bucket).list(), [
    ...[partly({ name: 'a.txt' }), partly({ name: 'b.txt' }), folder('dir')],
  ])
})

list.case('file', 'a file in a list has its id, its times and its metadata', async (t) => {
  const bucket = await t.bucket()
  await store(t, bucket, 'a.csv', form('a,b', 'text/csv', { cacheControl: '60' }))
  await t.post(`object/list/${bucket}`, { prefix: '' }, { as: 'service' }).is(200, [
    {
      ...{ name: 'a.csv', id: some.uuid, updated_at: some.time, created_at: some.time },
      last_accessed_at: some.time,
      metadata: partly({
        ...{ size: 3, mimetype: 'text/csv', cacheControl: 'max-age=60', contentLength: 3 },
        ...{ eTag: /^"[^"]+"$/, lastModified: some.time },
      }),
    },
  ])
})

list.case('folder', 'a list of a folder has names relative to it', async (t) => {
  const bucket = await bucketOf(t, names)
  const files = t.service.storage.from(bucket)
  t.data(await files.list('dir'), [partly({ name: 'c.txt' }), folder('sub')])
  t.data(await files.list('dir/sub/'), named('d.txt', 'e.txt'))
})

list.case(
  'folder.similar',
  'a folder whose name begins alike is not in the list',
  { source: `${service}/storage/object.ts` },
  async (t) => {
    const bucket = await bucketOf(t, ['dir/a.txt', 'dir2/b.txt'])
    t.data(await t.service.storage.from(bucket).list('dir'), named('a.txt'))
  },
)

list.case('folder.missing', 'a list of a folder that is not there is empty', async (t) => {
  const bucket = await bucketOf(t, ['a.txt'])
  t.data(await t.service.storage.from(bucket).list('none'), [])
})

list.case(
  'bucket.missing',
  'a list of a bucket that is not there is empty',
  { source: `${service}/storage/object.ts` },
  (t) => t.post(`object/list/${t.unique('none')}`, { prefix: '' }, { as: 'service' }).is(200, []),
)

list.case('search', 'a search keeps the names that begin with it', async (t) => {
  const bucket = await bucketOf(t, ['alpha.txt', 'almond.txt', 'beta.txt', 'dir/alpha.txt'])
  const files = t.service.storage.from(bucket)
  t.data(await files.list('', { search: 'al' }), [...named('almond.txt', 'alpha.txt')])
  t.data(await files.list('dir', { search: 'al' }), named('alpha.txt'))
})

list.case(
  'search.wildcard',
  'what are wildcards in SQL is searched for as it is',
  { source: search },
  async (t) => {
    const bucket = await bucketOf(t, ['a_c.txt', 'abc.txt'])
    const files = t.service.storage.from(bucket)
    t.data(await files.list('', { search: 'a_' }), named('a_c.txt'))
    t.data(await files.list('', { search: '%' }), [])
  },
)

list.case('page', 'limit and offset cut the list', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b', 'c', 'd'])
  const files = t.service.storage.from(bucket)
  t.data(await files.list('', { limit: 2 }), named('a', 'b'))
  t.data(await files.list('', { limit: 2, offset: 3 }), named('d'))
})

list.case('sort.name', 'a list is sorted by name in either order', async (t) => {
  const bucket = await bucketOf(t, ['b', 'c', 'a'])
  const files = t.service.storage.from(bucket)
  const sorted = (order: string) => files.list('', { sortBy: { column: 'name', order } })
  t.data(await sorted('asc'), named('a', 'b', 'c'))
  t.data(await sorted('desc'), named('c', 'b', 'a'))
})

list.case('sort.time', 'a list is sorted by the time of creation', async (t) => {
  const bucket = await bucketOf(t, ['b', 'c', 'a'])
  const files = t.service.storage.from(bucket)
  const sorted = (order: string) => files.list('', { sortBy: { column: 'created_at', order } })
  t.data(await sorted('asc'), named('b', 'c', 'a'))
  t.data(await sorted('desc'), named('a', 'c', 'b'))
})

list.case('sort.case', 'names are sorted whatever their case', { source: search }, async (t) => {
  const bucket = await bucketOf(t, ['B', 'a', 'C', 'd/e'])
  t.data(await t.service.storage.from(bucket).list(), [...named('a', 'B', 'C'), folder('d')])
})

list.case('sort.folders', 'by time, folders come before files', { source: search }, async (t) => {
  const bucket = await bucketOf(t, ['a', 'd/e', 'b', 'c/f'])
  const sortBy = { column: 'created_at', order: 'desc' }
  t.data(await t.service.storage.from(bucket).list('', { sortBy }), [
    ...[folder('d'), folder('c'), partly({ name: 'b' }), partly({ name: 'a' })],
  ])
})

list.case('search.case', 'a search looks at no case', { source: search }, async (t) => {
  const bucket = await bucketOf(t, ['Alpha', 'beta'])
  const files = t.service.storage.from(bucket)
  t.data(await files.list('', { search: 'aLP' }), named('Alpha'))
})

/** A body of a request that is refused, and the message. */
const wrong: [name: string, promise: string, body: unknown, message: RegExp][] = [
  ['prefix', 'a list needs a prefix', {}, /^body must have required property 'prefix'$/],
  ['limit', 'a limit of 0 is refused', { prefix: '', limit: 0 }, /^body\/limit must be >= 1$/],
  [
    'offset',
    'an offset below 0 is refused',
    { prefix: '', offset: -1 },
    /^body\/offset must be >= 0$/,
  ],
  [
    ...(['column', 'an unknown column to sort by is refused'] as const),
    ...([
      { prefix: '', sortBy: { column: 'size' } },
      /^body\/sortBy\/column must be equal to one of/,
    ] as const),
  ],
]

for (const [name, promise, body, message] of wrong) {
  list.case(`wrong.${name}`, promise, { source: route }, async (t) => {
    await t
      .post(`object/list/${await t.bucket()}`, body, { as: 'service' })
      .is(400, problem(400, 'Error', message, 'InvalidRequest'))
  })
}

export const listV2 = group('storage.list-v2', {
  title: 'Lists by cursor',
  source: 'https://supabase.com/docs/reference/javascript/storage-from-listv2',
  needs: ['service'],
})

listV2.case(
  'all',
  'a list without a delimiter has all objects with their full names',
  async (t) => {
    const bucket = await bucketOf(t, names)
    t.data(await t.service.storage.from(bucket).listV2(), {
      hasNext: false,
      folders: [],
      objects: ['a.txt', 'b.txt', 'dir/c.txt', 'dir/sub/d.txt', 'dir/sub/e.txt'].map((name) =>
        partly({
          ...{ name, id: some.uuid, metadata: partly({ size: 11 }) },
          ...{ created_at: some.time, updated_at: some.time },
        }),
      ),
    })
  },
)

listV2.case('prefix', 'a prefix is any beginning of the name, in its case', async (t) => {
  const bucket = await bucketOf(t, ['dir/a', 'dim', 'Dim', 'other'])
  const files = t.service.storage.from(bucket)
  t.data(
    await files.listV2({ prefix: 'di' }),
    partly({ objects: unordered(partly({ name: 'dim' }), partly({ name: 'dir/a' })) }),
  )
})

listV2.case('delimiter', 'with a delimiter deeper objects are folders', async (t) => {
  const bucket = await bucketOf(t, names)
  const files = t.service.storage.from(bucket)
  t.data(await files.listV2({ with_delimiter: true }), {
    hasNext: false,
    folders: named('dir/'),
    objects: [partly({ name: 'a.txt', key: 'a.txt' }), partly({ name: 'b.txt', key: 'b.txt' })],
  })
  t.data(await files.listV2({ with_delimiter: true, prefix: 'dir/' }), {
    hasNext: false,
    folders: named('dir/sub/'),
    objects: [partly({ name: 'dir/c.txt', key: 'c.txt' })],
  })
})

listV2.case('cursor', 'the cursor of a list leads to its next part', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b', 'c'])
  const files = t.service.storage.from(bucket)
  const first = await files.listV2({ limit: 2 })
  t.data(
    first,
    partly({
      hasNext: true,
      nextCursor: some.string,
      objects: named('a', 'b'),
    }),
  )
  t.data(await files.listV2({ limit: 2, cursor: first.data?.nextCursor }), {
    ...{ hasNext: false, folders: [], objects: named('c') },
  })
})

listV2.case('cursor.delimiter', 'a limit counts folders and objects together', async (t) => {
  const bucket = await bucketOf(t, ['a', 'b/1', 'b/2', 'c'])
  const files = t.service.storage.from(bucket)
  const page = { limit: 2, with_delimiter: true }
  const first = await files.listV2(page)
  t.data(first, partly({ hasNext: true, folders: named('b/'), objects: named('a') }))
  t.data(await files.listV2({ ...page, cursor: first.data?.nextCursor }), {
    ...{ hasNext: false, folders: [], objects: named('c') },
  })
})

listV2.case(
  'cursor.wrong',
  'a cursor that is none is refused',
  { source: `${service}/storage/object.ts` },
  async (t) => {
    const message = 'Invalid Parameter continuation token'
    await t
      .post(`object/list-v2/${await t.bucket()}`, { cursor: '!!' }, { as: 'service' })
      .is(400, problem(400, 'InvalidParameter', message))
  },
)

listV2.case('sort.name', 'a list is sorted by name in either order', async (t) => {
  const bucket = await bucketOf(t, ['b', 'c', 'a'])
  const files = t.service.storage.from(bucket)
  t.data(
    await files.listV2({ sortBy: { column: 'name', order: 'desc' } }),
    partly({ objects: named('c', 'b', 'a') }),
  )
})

listV2.case(
  'sort.case',
  'capital letters come before small ones',
  {
    source: `${service}/storage/database/pg.ts`,
  },
  async (t) => {
    const bucket = await bucketOf(t, ['a', 'B', 'c'])
    t.data(await t.service.storage.from(bucket).listV2(), partly({ objects: named('B', 'a', 'c') }))
  },
)

listV2.case('sort.time', 'a list is sorted by time, over its parts, too', async (t) => {
  const bucket = await bucketOf(t, ['b', 'c', 'a'])
  const files = t.service.storage.from(bucket)
  const sortBy = { column: 'created_at', order: 'asc' } as const
  const first = await files.listV2({ sortBy, limit: 2 })
  t.data(first, partly({ objects: named('b', 'c') }))
  t.data(
    await files.listV2({ sortBy, limit: 2, cursor: first.data?.nextCursor }),
    partly({ hasNext: false, objects: named('a') }),
  )
})
