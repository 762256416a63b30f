import { group } from '../../case.ts'
import { some } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/tables_views.html'

export const write = group('rest.write', {
  title: 'Inserts, updates and deletes',
  source: docs,
  needs: ['sql', 'service'],
})

write.case(
  'insert',
  'a row is inserted and returned with its defaults',
  { source: `${docs}#insert` },
  async (t) => {
    const key = t.unique('insert')
    t.removesRows('conformance_notes', 'key', key)
    const rows = t.anon.from('conformance_notes').insert({ key, amount: 4 })
    t.data(await rows.select('id,key,body,doubled'), [
      { id: some.number, key, body: 'empty', doubled: 8 },
    ])
  },
)

write.case(
  'insert.location',
  'return=headers-only tells where the new row is',
  { source: `${docs}#insert` },
  async (t) => {
    const key = t.unique('location')
    t.removesRows('conformance_notes', 'key', key)
    await t
      .post('conformance_notes', { key }, { prefer: 'return=headers-only' })
      .empty(201)
      .header('location', /^\/conformance_notes\?id=eq\.\d+$/)
  },
)

write.case(
  'upsert',
  'merge-duplicates updates a row with the same key',
  { source: `${docs}#upsert` },
  async (t) => {
    const key = t.unique('upsert')
    await t.rows('conformance_strict', [{ key, amount: 1 }], 'key')
    await t
      .post(
        'conformance_strict',
        { key, amount: 2 },
        { prefer: 'resolution=merge-duplicates,return=representation' },
      )
      .is(200, [{ key, amount: 2, email: null, note_key: null, code: null, during: null }])
  },
)

write.case(
  'update',
  'an update changes the rows of the filter and no other',
  { source: `${docs}#update` },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    await t.rows('conformance_notes', [{ key: one }, { key: other }], 'key')
    await t.patch(`conformance_notes?key=eq.${one}`, { body: 'new' }).empty(204)
    await t.get(`conformance_notes?select=key,body&key=in.(${one},${other})&order=id`).is(200, [
      { key: one, body: 'new' },
      { key: other, body: 'empty' },
    ])
  },
)

write.case(
  'delete',
  'a delete removes the rows of the filter',
  { source: `${docs}#delete` },
  async (t) => {
    const key = t.unique('delete')
    await t.rows('conformance_notes', [{ key }], 'key')
    await t
      .delete(`conformance_notes?key=eq.${key}&select=key`, { prefer: 'return=representation' })
      .is(200, [{ key }])
    await t.get(`conformance_notes?key=eq.${key}`).is(200, [])
  },
)

write.case(
  'unique',
  'a second row with a unique value is a conflict',
  { source: 'https://docs.postgrest.org/en/stable/references/errors.html' },
  async (t) => {
    const key = t.unique('twice')
    await t.rows('conformance_notes', [{ key }], 'key')
    await t.post('conformance_notes', { key }).has(409, { code: '23505' })
  },
)

const embedding = 'https://docs.postgrest.org/en/stable/references/api/resource_embedding.html'
const preferences = 'https://docs.postgrest.org/en/stable/references/api/preferences.html'
const representation = 'return=representation'

write.case(
  'update.returned',
  'changed rows are returned as they are now, with the columns asked for',
  { source: `${docs}#update` },
  async (t) => {
    const key = t.unique('returned')
    await t.rows('conformance_notes', [{ key, amount: 1 }], 'key')
    const rows = t.anon.from('conformance_notes').update({ amount: 10 }).eq('key', key)
    t.data(await rows.select('amount,twice:doubled'), [{ amount: 10, twice: 20 }])
  },
)

write.case(
  'update.nothing',
  'an update that meets no row returns none',
  { source: `${preferences}#full` },
  (t) =>
    t
      .patch(
        `conformance_notes?key=eq.${t.unique('nobody')}`,
        { amount: 1 },
        { prefer: representation },
      )
      .is(200, []),
)

write.case(
  'update.logic',
  'conditions choose the rows that change',
  {
    source:
      'https://docs.postgrest.org/en/stable/references/api/tables_views.html#logical-operators',
  },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    await t.rows(
      'conformance_notes',
      [
        { key: one, amount: 1 },
        { key: other, amount: 2 },
      ],
      'key',
    )
    const rows = t.anon.from('conformance_notes').update({ amount: 9 }).in('key', [one, other])
    t.data(await rows.or('amount.eq.2,amount.gt.5').select('key,amount'), [
      { key: other, amount: 9 },
    ])
    await t.get(`conformance_notes?select=amount&key=eq.${one}`).is(200, [{ amount: 1 }])
  },
)

write.case(
  'update.columns',
  'members beside the columns that are named do not change',
  { source: `${docs}#specifying-columns` },
  async (t) => {
    const key = t.unique('columns')
    await t.rows('conformance_notes', [{ key, amount: 1 }], 'key')
    await t
      .patch(
        `conformance_notes?key=eq.${key}&columns=body&select=body,amount`,
        { body: 'new', amount: 2 },
        {
          prefer: representation,
        },
      )
      .is(200, [{ body: 'new', amount: 1 }])
  },
)

write.case(
  'update.default',
  'columns that are named and missing change to their defaults where that is preferred',
  { source: `${preferences}#missing` },
  async (t) => {
    const key = t.unique('default')
    await t.rows('conformance_notes', [{ key, amount: 1 }], 'key')
    await t
      .patch(
        `conformance_notes?key=eq.${key}&columns=body,amount&select=body,amount`,
        { body: 'new' },
        {
          prefer: `missing=default, ${representation}`,
        },
      )
      .is(200, [{ body: 'new', amount: 7 }])
  },
)

write.case(
  'update.embed',
  'changed rows are returned with related ones',
  { source: `${embedding}#foreign-key-joins-on-writes` },
  async (t) => {
    const key = t.unique('embed')
    await t.rows('conformance_notes', [{ key }], 'key')
    await t.prepare('POST', '/rest/v1/conformance_note_lines', { note_key: key, line: 1 })
    const rows = t.anon.from('conformance_notes').update({ body: 'new' }).eq('key', key)
    t.data(await rows.select('body,conformance_note_lines(line)'), [
      { body: 'new', conformance_note_lines: [{ line: 1 }] },
    ])
  },
)

write.case(
  'update.count',
  'changed rows are counted',
  { source: 'https://supabase.com/docs/reference/javascript/update' },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    await t.rows('conformance_notes', [{ key: one }, { key: other }], 'key')
    const rows = t.anon.from('conformance_notes').update({ amount: 3 }, { count: 'exact' })
    t.count(await rows.in('key', [one, other]), 2)
  },
)

write.case(
  'delete.minimal',
  'a delete returns nothing unless it is asked to',
  { source: `${preferences}#minimal` },
  async (t) => {
    const key = t.unique('minimal')
    await t.rows('conformance_notes', [{ key }], 'key')
    await t.delete(`conformance_notes?key=eq.${key}`).empty(204)
    await t.get(`conformance_notes?key=eq.${key}`).is(200, [])
  },
)

write.case(
  'delete.count',
  'removed rows are counted',
  { source: 'https://supabase.com/docs/reference/javascript/delete' },
  async (t) => {
    const key = t.unique('count')
    await t.rows('conformance_notes', [{ key }], 'key')
    t.count(await t.anon.from('conformance_notes').delete({ count: 'exact' }).eq('key', key), 1)
  },
)

write.case(
  'delete.embed',
  'removed rows are returned with related ones',
  { source: `${embedding}#foreign-key-joins-on-writes` },
  async (t) => {
    const key = t.unique('embed')
    await t.rows('conformance_notes', [{ key, amount: 4 }], 'key')
    await t.prepare('POST', '/rest/v1/conformance_note_lines', { note_key: key, line: 1 })
    const rows = t.anon.from('conformance_note_lines').delete().eq('note_key', key)
    t.data(await rows.select('line,conformance_notes(amount)'), [
      { line: 1, conformance_notes: { amount: 4 } },
    ])
  },
)
