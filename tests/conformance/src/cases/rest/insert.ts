import { group } from '../../case.ts'
import { unordered } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'
const embedding = 'https://docs.postgrest.org/en/stable/references/api/resource_embedding.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'
const preferences = 'https://docs.postgrest.org/en/stable/references/api/preferences.html'
const representation = 'return=representation'

export const insert = group('rest.insert', {
  title: 'Bodies and responses of inserts',
  source: `${docs}#insert`,
  needs: ['sql', 'service'],
})

insert.case(
  'minimal',
  'an insert returns nothing unless it is asked to',
  { source: `${docs}#insert` },
  async (t) => {
    const key = t.unique('minimal')
    t.removesRows('conformance_notes', 'key', key)
    await t.post('conformance_notes', { key, body: 'new' }).empty(201)
    await t.get(`conformance_notes?select=body&key=eq.${key}`).is(200, [{ body: 'new' }])
  },
)

insert.case(
  'length',
  'an empty response says that it has no length',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  async (t) => {
    const key = t.unique('length')
    t.removesRows('conformance_notes', 'key', key)
    await t.post('conformance_notes', { key }).empty(201).header('content-length', '0')
  },
)

insert.case(
  'location.composite',
  'the place of a new row names all columns of its key',
  { source: `${preferences}#headers-only` },
  async (t) => {
    const key = t.unique('place')
    await t.rows('conformance_notes', [{ key }], 'key')
    await t
      .post('conformance_note_lines', { note_key: key, line: 3 }, { prefer: 'return=headers-only' })
      .empty(201)
      .header(
        'location',
        new RegExp(
          `^/conformance_note_lines\\?(note_key=eq\\.${key}&line=eq\\.3|line=eq\\.3&note_key=eq\\.${key})$`,
        ),
      )
  },
)

insert.case(
  'form',
  'a new row is taken from a form',
  { source: `${docs}#x-www-form-urlencoded` },
  async (t) => {
    const key = t.unique('form')
    t.removesRows('conformance_notes', 'key', key)
    const form = new URLSearchParams({ key, body: 'a+b & c', amount: '50' })
    await t
      .post('conformance_notes?select=body,amount', form, { prefer: representation })
      .is(201, [{ body: 'a+b & c', amount: 50 }])
  },
)

insert.case('bulk', 'an array inserts its rows', { source: `${docs}#bulk-insert` }, async (t) => {
  const [one, other] = [t.unique('one'), t.unique('other')]
  t.removesRows('conformance_notes', 'key', one)
  t.removesRows('conformance_notes', 'key', other)
  const rows = t.anon.from('conformance_notes').insert([
    { key: one, amount: 1 },
    { key: other, amount: 2 },
  ])
  t.data(
    await rows.select('key,amount'),
    unordered({ key: one, amount: 1 }, { key: other, amount: 2 }),
  )
})

insert.case(
  'bulk.atomic',
  'no row of an array is inserted where one is refused',
  { source: `${docs}#bulk-insert` },
  async (t) => {
    const key = t.unique('atomic')
    const rows = [
      { key, amount: 1 },
      { key, amount: 2 },
    ]
    await t.post('conformance_notes', rows).has(409, { code: '23505' })
    await t.get(`conformance_notes?key=eq.${key}`).is(200, [])
  },
)

insert.case(
  'bulk.keys',
  'rows with different members are refused',
  { source: `${errors}#pgrst102` },
  (t) =>
    t
      .post('conformance_notes', [{ key: 'a' }, { key: 'b', amount: 1 }])
      .has(400, { code: 'PGRST102', message: 'All object keys must match' }),
)

insert.case(
  'csv',
  'lines of CSV insert rows; NULL is null and nothing is an empty text',
  { source: `${docs}#bulk-insert` },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    t.removesRows('conformance_notes', 'key', one)
    t.removesRows('conformance_notes', 'key', other)
    const body = `key,body,amount\n${one},,NULL\n${other},"a, ""b""",5\n`
    await t
      .post('conformance_notes?select=key,body,amount&order=id', body, {
        headers: { 'content-type': 'text/csv' },
        prefer: representation,
      })
      .is(
        201,
        unordered({ key: one, body: '', amount: null }, { key: other, body: 'a, "b"', amount: 5 }),
      )
  },
)

insert.case(
  'csv.uneven',
  'lines of CSV of different lengths are refused',
  { source: `${errors}#pgrst102` },
  (t) =>
    t
      .post('conformance_notes', 'key,body\na,b\nc\n', { headers: { 'content-type': 'text/csv' } })
      .has(400, { code: 'PGRST102' }),
)

insert.case(
  'columns',
  'members beside the columns that are named are ignored',
  { source: `${docs}#specifying-columns` },
  async (t) => {
    const key = t.unique('columns')
    t.removesRows('conformance_notes', 'key', key)
    const row = { key, body: 'new', amount: 1, nowhere: 'ignored' }
    await t
      .post('conformance_notes?columns=key,body&select=body,amount', row, {
        prefer: representation,
      })
      .is(201, [{ body: 'new', amount: 7 }])
  },
)

insert.case(
  'columns.missing',
  'columns that are named and missing are null',
  { source: `${preferences}#missing` },
  async (t) => {
    const key = t.unique('null')
    t.removesRows('conformance_notes', 'key', key)
    await t
      .post('conformance_notes?columns=key,amount&select=amount', [{ key }], {
        prefer: representation,
      })
      .is(201, [{ amount: null }])
  },
)

insert.case(
  'columns.default',
  'columns that are named and missing have their defaults where that is preferred',
  { source: `${preferences}#missing` },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    t.removesRows('conformance_notes', 'key', one)
    t.removesRows('conformance_notes', 'key', other)
    const rows = [{ key: one }, { key: other, amount: 15 }]
    const inserted = t.anon.from('conformance_notes').insert(rows, { defaultToNull: false })
    t.data(
      await inserted.select('key,amount'),
      unordered({ key: one, amount: 7 }, { key: other, amount: 15 }),
    )
  },
)

insert.case(
  'columns.unknown',
  'a column that is named and not there is refused',
  { source: `${errors}#pgrst204` },
  (t) =>
    t.post('conformance_notes?columns=key,nowhere', { key: 'a' }).has(400, {
      code: 'PGRST204',
      message: "Could not find the 'nowhere' column of 'conformance_notes' in the schema cache",
    }),
)

insert.case(
  'view',
  'a view that Postgres can update takes new rows',
  { source: `${docs}#insert` },
  async (t) => {
    const key = t.unique('view')
    t.removesRows('conformance_notes', 'key', key)
    await t
      .post('conformance_note_bodies', { key, body: 'through' }, { prefer: representation })
      .is(201, [{ key, body: 'through', amount: 7 }])
  },
)

insert.case(
  'view.trigger',
  'a view with a trigger takes new rows',
  { source: 'https://docs.postgrest.org/en/stable/references/api/options.html' },
  async (t) => {
    const key = t.unique('trigger')
    t.removesRows('conformance_notes', 'key', key)
    await t.post('conformance_note_sizes', { key, size: 3 }).empty(201)
    await t.get(`conformance_notes?select=body&key=eq.${key}`).is(200, [{ body: 'xxx' }])
  },
)

insert.case(
  'embed',
  'a new row is returned with related ones',
  { source: `${embedding}#foreign-key-joins-on-writes` },
  async (t) => {
    const key = t.unique('embed')
    await t.rows('conformance_notes', [{ key, amount: 4 }], 'key')
    const rows = t.anon.from('conformance_note_lines').insert({ note_key: key, line: 1 })
    t.data(await rows.select('line,conformance_notes(amount)').single(), {
      line: 1,
      conformance_notes: { amount: 4 },
    })
  },
)

insert.case(
  'order',
  'new rows are returned in the order given',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md' },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    t.removesRows('conformance_notes', 'key', one)
    t.removesRows('conformance_notes', 'key', other)
    const rows = [
      { key: one, amount: 1 },
      { key: other, amount: 2 },
    ]
    await t
      .post('conformance_notes?select=amount&order=amount.desc', rows, { prefer: representation })
      .is(201, [{ amount: 2 }, { amount: 1 }])
  },
)

insert.case(
  'count',
  'new rows are counted',
  { source: 'https://supabase.com/docs/reference/javascript/insert' },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    t.removesRows('conformance_notes', 'key', one)
    t.removesRows('conformance_notes', 'key', other)
    const rows = [{ key: one }, { key: other }]
    t.count(await t.anon.from('conformance_notes').insert(rows, { count: 'exact' }), 2)
  },
)

/** Bodies that are no rows. */
const bodies: [name: string, promise: string, body: string][] = [
  ['malformed', 'JSON that breaks off is refused', '{"key": "a"'],
  ['empty', 'an empty body is refused', ''],
]

for (const [name, promise, body] of bodies) {
  insert.case(name, promise, { source: `${errors}#pgrst102` }, (t) =>
    t
      .post('conformance_notes', body, { headers: { 'content-type': 'application/json' } })
      .has(400, { code: 'PGRST102', message: 'Empty or invalid json' }),
  )
}
