import { group } from '../../case.ts'
import { listen } from '../../realtime.ts'

const docs = 'https://supabase.com/docs/guides/realtime/postgres-changes'
const builder =
  'https://github.com/supabase/supabase-js/blob/master/packages/core/realtime-js/src/RealtimePostgresFilterBuilder.ts'
const source = 'https://github.com/supabase/realtime/blob/main/lib'
const subscriptions = `${source}/extensions/postgres_cdc_rls/subscriptions.ex`
const table = 'conformance_kind_events'

export const filter = group('realtime.filter', {
  title: 'Filters of row changes',
  source: `${docs}#available-filters`,
  needs: ['sql', 'service'],
})

type Row = Record<string, unknown>

/** A filter, rows that it leaves out, and rows that it lets through; and where it is promised. */
interface Filter {
  filter: string
  out: Row[]
  through: Row[]
  page: string
}

const on = (anchor: string) => `${docs}#${anchor}`
/** Numbers are such as the ids of rows never are. */
const filters: Record<string, Filter> = {
  eq: {
    filter: 'big=eq.7000005',
    out: [{ big: 7000006 }],
    through: [{ big: 7000005 }],
    page: on('equal-to-eq'),
  },
  neq: {
    ...{ filter: 'words=neq.bye', out: [{ words: 'bye' }], through: [{ words: 'hey' }] },
    page: on('not-equal-to-neq'),
  },
  lt: {
    filter: 'big=lt.7000010',
    out: [{ big: 7000010 }],
    through: [{ big: 7000009 }],
    page: on('less-than-lt'),
  },
  lte: {
    ...{
      filter: 'big=lte.7000010',
      out: [{ big: 7000011 }],
      through: [{ big: 7000010 }, { big: 7000009 }],
    },
    page: on('less-than-or-equal-to-lte'),
  },
  gt: {
    ...{
      filter: 'big=gt.7000010',
      out: [{ big: 7000010 }, { big: 7000009 }],
      through: [{ big: 7000011 }],
    },
    page: on('greater-than-gt'),
  },
  gte: {
    ...{
      filter: 'big=gte.7000010',
      out: [{ big: 7000009 }],
      through: [{ big: 7000010 }, { big: 7000100 }],
    },
    page: on('greater-than-or-equal-to-gte'),
  },
  in: {
    ...{ filter: 'words=in.(red, blue,yellow)', out: [{ words: 'green' }] },
    through: [{ words: 'red' }, { words: 'blue' }, { words: 'yellow' }],
    page: on('contained-in-list-in'),
  },
  'in.numbers': {
    ...{
      filter: 'small=in.(30001,30003)',
      out: [{ small: 30002 }],
      through: [{ small: 30001 }, { small: 30003 }],
    },
    page: on('contained-in-list-in'),
  },
  'in.quoted': {
    ...{ filter: 'words=in.("a,b",c)', out: [{ words: 'a' }, { words: 'b' }] },
    through: [{ words: 'a,b' }, { words: 'c' }],
    page: builder,
  },
  like: {
    ...{ filter: 'words=like.%Foo%', out: [{ words: 'a foo' }], through: [{ words: 'a Foo!' }] },
    page: builder,
  },
  ilike: {
    ...{ filter: 'words=ilike.foo_', out: [{ words: 'foo' }], through: [{ words: 'FOOD' }] },
    page: builder,
  },
  match: {
    ...{ filter: 'words=match.^post-[0-9]+$', out: [{ words: 'Post-1' }, { words: 'post-' }] },
    through: [{ words: 'post-12' }],
    page: builder,
  },
  imatch: {
    ...{ filter: 'words=imatch.^post-[0-9]+$', out: [{ words: 'post-' }] },
    through: [{ words: 'POST-12' }],
    page: builder,
  },
  'is.null': {
    ...{ filter: 'words=is.null', out: [{ words: 'x' }], through: [{ words: null }] },
    page: builder,
  },
  'is.true': {
    ...{
      filter: 'flag=is.true',
      out: [{ flag: false }, { flag: null }],
      through: [{ flag: true }],
    },
    page: builder,
  },
  'is.unknown': {
    ...{ filter: 'flag=is.unknown', out: [{ flag: false }], through: [{ flag: null }] },
    page: builder,
  },
  isdistinct: {
    ...{
      filter: 'big=isdistinct.7000005',
      out: [{ big: 7000005 }],
      through: [{ big: null }, { big: 7000006 }],
    },
    page: builder,
  },
  'not.eq': {
    ...{ filter: 'big=not.eq.7000005', out: [{ big: 7000005 }], through: [{ big: 7000006 }] },
    page: builder,
  },
  'not.in': {
    ...{ filter: 'words=not.in.(a,b)', out: [{ words: 'b' }], through: [{ words: 'c' }] },
    page: builder,
  },
  'not.like': {
    ...{ filter: 'words=not.like.a%', out: [{ words: 'ab' }], through: [{ words: 'ba' }] },
    page: builder,
  },
  'not.is': {
    ...{ filter: 'words=not.is.null', out: [{ words: null }], through: [{ words: 'x' }] },
    page: builder,
  },
  quoted: {
    ...{ filter: 'words=eq."one, (two) \\"three\\""', out: [{ words: 'one' }] },
    through: [{ words: 'one, (two) "three"' }],
    page: builder,
  },
  dots: {
    ...{ filter: 'words=eq.a.b=c', out: [{ words: 'a' }], through: [{ words: 'a.b=c' }] },
    page: subscriptions,
  },
  and: {
    ...{ filter: 'big=gt.7000010,big=lt.7000100', out: [{ big: 7000010 }, { big: 7000100 }] },
    through: [{ big: 7000011 }, { big: 7000099 }],
    page: 'https://supabase.com/docs/guides/realtime/protocol#phx_join',
  },
  null: {
    ...{ filter: 'big=neq.7000005', out: [{ big: null }], through: [{ big: 7000006 }] },
    page: 'https://www.postgresql.org/docs/current/functions-comparison.html',
  },
  'type.numeric': {
    // As texts, 10 would come before 9.
    ...{ filter: 'exact=gt.9', out: [{ exact: 8.99 }], through: [{ exact: 10.25 }] },
    page: on('greater-than-gt'),
  },
  'type.day': {
    ...{ filter: 'day=lt.2024-02-01', out: [{ day: '2024-02-01' }] },
    through: [{ day: '2024-01-31' }],
    page: on('less-than-lt'),
  },
  'type.instant': {
    ...{
      filter: 'instant=eq.2024-01-01T12:00:00+02:00',
      out: [{ instant: '2024-01-01T12:00:00Z' }],
    },
    through: [{ instant: '2024-01-01T10:00:00+00:00' }],
    page: on('equal-to-eq'),
  },
  'type.uuid': {
    filter: 'token=eq.AAAAAAAA-0000-4000-8000-00000000000A',
    out: [{ token: 'aaaaaaaa-0000-4000-8000-00000000000b' }],
    through: [{ token: 'aaaaaaaa-0000-4000-8000-00000000000a' }],
    page: on('equal-to-eq'),
  },
  'type.enum': {
    // In the order of the type: novel, poetry, science, history.
    ...{ filter: 'genre=gte.science', out: [{ genre: 'novel' }, { genre: 'poetry' }] },
    through: [{ genre: 'history' }, { genre: 'science' }],
    page: on('greater-than-or-equal-to-gte'),
  },
  'type.boolean': {
    ...{ filter: 'flag=eq.true', out: [{ flag: false }], through: [{ flag: true }] },
    page: on('equal-to-eq'),
  },
}

for (const [name, { filter: text, out, through, page }] of Object.entries(filters)) {
  filter.case(
    name,
    'of the rows of a table those are told that the filter lets through',
    { source: page },
    async (t) => {
      const key = t.unique('filter')
      const all = `key=eq.${key},${text}`
      const { received } = await listen(t, { event: 'INSERT', table, filter: all })
      const columns = Object.keys({ ...out[0], ...through[0] })
      const rows = [...out, ...through].map((row) => ({ key, ...row }))
      await t.rows(table, rows, 'key')
      const values = () => received.map((change) => columns.map((column) => change.new[column]))
      const expected = through.map((row) => columns.map((column) => row[column]))
      await t.eventually(values, expected)
    },
  )
}

filter.case(
  'single',
  'a filter of one condition',
  { source: `${docs}#filtering-for-specific-changes` },
  async (t) => {
    const [key, other] = [t.unique('one'), t.unique('other')]
    const { received } = await listen(t, { event: '*', table, filter: `key=eq.${key}` })
    await t.rows(table, [{ key: other }, { key }], 'key')
    await t.eventually(() => received.map(({ new: row }) => row.key), [key])
  },
)

filter.case(
  'spaces',
  'a filter of spaces alone is none',
  { source: 'https://supabase.com/docs/guides/realtime/protocol#phx_join', alone: true },
  async (t) => {
    const key = t.unique('filter')
    const { received } = await listen(t, { event: 'INSERT', table, filter: '  ' })
    await t.rows(table, [{ key }], 'key')
    await t.eventually(() => received.map(({ new: row }) => row.key), [key])
  },
)

filter.case('update', 'an update is judged by the new row', async (t) => {
  const key = t.unique('filter')
  const all = `key=eq.${key},big=gt.7000010`
  const { received } = await listen(t, { event: 'UPDATE', table, filter: all })
  await t.rows(table, [{ key, big: 7000001 }], 'key')
  for (const big of [7000005, 7000020, 7000002]) {
    await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, { big })
  }
  await t.prepare('PATCH', `/rest/v1/${table}?key=eq.${key}`, { big: 7000030 })
  await t.eventually(() => received.map(({ new: row }) => row.big), [7000020, 7000030])
})

filter.case(
  'builder',
  'a filter that the stock client has built is understood',
  { source: builder },
  async (t) => {
    const { postgresChangesFilter } = await import('@supabase/supabase-js')
    const key = t.unique('filter')
    const built = postgresChangesFilter()
      .eq('key', key)
      .in('words', ['a,b', 'c"d', 'e'])
      .not('big', 'eq', 7000005)
      .build()
    const { received } = await listen(t, { event: '*', table, filter: built })
    const rows = [
      { key, words: 'a', big: 7000001 },
      { key, words: 'e', big: 7000005 },
      { key, words: 'a,b', big: 7000001 },
      { key, words: 'c"d', big: 7000002 },
    ]
    await t.rows(table, rows, 'key')
    await t.eventually(() => received.map(({ new: row }) => row.words), ['a,b', 'c"d'])
  },
)
