import { group } from '../../case.ts'
import { some, unordered } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'
const preferences = 'https://docs.postgrest.org/en/stable/references/api/preferences.html'

export const upsert = group('rest.upsert', {
  title: 'Inserts that update',
  source: `${docs}#upsert`,
  needs: ['sql', 'service'],
})

upsert.case('merge', 'rows that are there are updated, others are inserted', async (t) => {
  const [old, fresh] = [t.unique('old'), t.unique('fresh')]
  await t.rows('conformance_strict', [{ key: old, amount: 1 }], 'key')
  t.removesRows('conformance_strict', 'key', fresh)
  const rows = t.anon.from('conformance_strict').upsert([
    { key: old, amount: 2 },
    { key: fresh, amount: 3 },
  ])
  t.data(
    await rows.select('key,amount'),
    unordered({ key: old, amount: 2 }, { key: fresh, amount: 3 }),
  )
})

upsert.case('merge.inserted', 'an upsert that inserts responds with 201', async (t) => {
  const key = t.unique('fresh')
  t.removesRows('conformance_strict', 'key', key)
  await t
    .post('conformance_strict', { key, amount: 1 }, { prefer: 'resolution=merge-duplicates' })
    .empty(201)
  await t.get(`conformance_strict?select=amount&key=eq.${key}`).is(200, [{ amount: 1 }])
})

upsert.case('merge.columns', 'columns that are not sent keep their values', async (t) => {
  const key = t.unique('kept')
  await t.rows('conformance_strict', [{ key, amount: 1, code: 'old' }], 'key')
  const rows = t.anon.from('conformance_strict').upsert({ key, amount: 2 })
  t.data(await rows.select('amount,code'), [{ amount: 2, code: 'old' }])
})

upsert.case('ignore', 'rows that are there stay as they are and are not returned', async (t) => {
  const [old, fresh] = [t.unique('old'), t.unique('fresh')]
  await t.rows('conformance_strict', [{ key: old, amount: 1 }], 'key')
  t.removesRows('conformance_strict', 'key', fresh)
  const rows = [
    { key: old, amount: 2 },
    { key: fresh, amount: 3 },
  ]
  const request = t.anon.from('conformance_strict').upsert(rows, { ignoreDuplicates: true })
  t.data(await request.select('key'), [{ key: fresh }])
  await t.get(`conformance_strict?select=amount&key=eq.${old}`).is(200, [{ amount: 1 }])
})

upsert.case(
  'on-conflict',
  'a unique column that is named decides whether a row is there',
  { source: `${docs}#on-conflict` },
  async (t) => {
    const key = t.unique('email')
    const email = `${key}@example.com`
    await t.rows('conformance_strict', [{ key, email, amount: 1 }], 'key')
    const rows = t.anon
      .from('conformance_strict')
      .upsert({ key, email, amount: 5 }, { onConflict: 'email' })
    t.data(await rows.select('key,amount'), [{ key, amount: 5 }])
  },
)

upsert.case(
  'on-conflict.not-unique',
  'a column that is not unique decides nothing',
  { source: `${errors}#http-status-codes` },
  (t) =>
    t
      .post(
        'conformance_strict?on_conflict=amount',
        { key: t.unique('never'), amount: 1 },
        { prefer: 'resolution=merge-duplicates' },
      )
      .has(400, { code: '42P10' }),
)

upsert.case('composite-key', 'a key of several columns decides as a whole', async (t) => {
  const key = t.unique('lines')
  await t.rows('conformance_notes', [{ key }], 'key')
  const line = (number: number, body: string) => ({ note_key: key, line: number, body })
  await t.prepare('POST', '/rest/v1/conformance_note_lines', line(1, 'old'))
  const rows = t.anon.from('conformance_note_lines').upsert([line(1, 'new'), line(2, 'second')])
  t.data(await rows.select(), unordered(line(1, 'new'), line(2, 'second')))
})

upsert.case(
  'default',
  'a key that is missing is made where defaults are preferred',
  { source: `${docs}#upsert` },
  async (t) => {
    const [old, fresh] = [t.unique('old'), t.unique('fresh')]
    await t.rows('conformance_notes', [{ key: old }], 'key')
    t.removesRows('conformance_notes', 'key', fresh)
    const found = await t.get(`conformance_notes?select=id&key=eq.${old}`)
    const [{ id } = { id: 0 }] = found.json as { id: number }[]
    await t
      .post(
        'conformance_notes?columns=id,key,body&select=id,key,body',
        [
          { id, key: old, body: 'new' },
          { key: fresh, body: 'first' },
        ],
        { prefer: 'resolution=merge-duplicates, missing=default, return=representation' },
      )
      .is(
        201,
        unordered({ id, key: old, body: 'new' }, { id: some.number, key: fresh, body: 'first' }),
      )
  },
)

upsert.case(
  'applied',
  'an upsert says what it has applied',
  { source: `${preferences}#return-representation` },
  async (t) => {
    const key = t.unique('applied')
    t.removesRows('conformance_strict', 'key', key)
    const prefer = 'resolution=merge-duplicates, return=minimal'
    await t
      .post('conformance_strict', { key, amount: 1 }, { prefer })
      .empty(201)
      .header('preference-applied', prefer)
  },
)

const put = `${docs}#put`

upsert.case('put.insert', 'PUT inserts a row that is not there', { source: put }, async (t) => {
  const key = t.unique('put')
  t.removesRows('conformance_paints', 'key', key)
  await t
    .put(
      `conformance_paints?key=eq.${key}`,
      { key, colour: '#000001' },
      { prefer: 'return=representation' },
    )
    .is(201, [{ key, colour: '#000001' }])
})

upsert.case('put.update', 'PUT updates a row that is there', { source: put }, async (t) => {
  const key = t.unique('put')
  await t.rows('conformance_paints', [{ key, colour: '#000001' }], 'key')
  await t
    .put(
      `conformance_paints?key=eq.${key}`,
      { key, colour: '#000002' },
      { prefer: 'return=representation' },
    )
    .is(200, [{ key, colour: '#000002' }])
})

upsert.case(
  'put.minimal',
  'PUT returns nothing unless it is asked to',
  { source: put },
  async (t) => {
    const key = t.unique('put')
    t.removesRows('conformance_paints', 'key', key)
    await t.put(`conformance_paints?key=eq.${key}`, { key, colour: null }).empty(204)
    await t.get(`conformance_paints?key=eq.${key}`).is(200, [{ key, colour: null }])
  },
)

/** Requests of PUT that are refused. The first member of the query is the key of the row. */
const refusals: [name: string, promise: string, query: string, status: number, code: string][] = [
  ['other-key', 'PUT with another key in the body is refused', 'key=eq.another', 400, 'PGRST115'],
  ['other-column', 'PUT is about the key and nothing else', 'colour=eq.1', 405, 'PGRST105'],
  ['other-operator', 'PUT compares the key by eq alone', 'key=neq.one', 405, 'PGRST105'],
  ['limit', 'PUT takes no limit', 'key=eq.one&limit=1', 400, 'PGRST114'],
]

for (const [name, promise, query, status, code] of refusals) {
  upsert.case(`put.${name}`, promise, { source: `${errors}#${code.toLowerCase()}` }, (t) =>
    t.put(`conformance_paints?${query}`, { key: 'one', colour: '#000001' }).has(status, { code }),
  )
}
