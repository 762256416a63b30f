import { group } from '../../case.ts'
import { partly } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/resource_representation.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

const object = 'application/vnd.pgrst.object+json'

export const representation = group('rest.representation', {
  title: 'Formats of responses',
  source: `${docs}#response-format`,
  needs: ['sql'],
})

representation.case('json', 'rows are JSON in UTF-8', (t) =>
  t
    .get('conformance_branches?id=eq.1', { accept: 'application/json' })
    .is(200, [{ id: 1, name: 'Harbour' }])
    .header('content-type', 'application/json; charset=utf-8'),
)

representation.case(
  'any',
  'whatever is accepted, rows are JSON',
  { source: `${docs}#builtin-media-type-handlers` },
  (t) =>
    t
      .get('conformance_branches?id=eq.2', { accept: '*/*' })
      .is(200, [{ id: 2, name: 'Hill' }])
      .header('content-type', 'application/json; charset=utf-8'),
)

representation.case(
  'head',
  'HEAD responds as GET does, without a body',
  { source: 'https://docs.postgrest.org/en/stable/references/api/tables_views.html#get-and-head' },
  (t) =>
    t
      .head('conformance_branches?order=id&limit=2')
      .empty(200)
      .header('content-range', '0-1/*')
      .header('content-type', 'application/json; charset=utf-8'),
)

representation.case(
  'object',
  'one row is an object where an object is asked for',
  { source: `${docs}#singular-or-plural` },
  (t) =>
    t
      .get('conformance_branches?id=eq.1', { accept: object })
      .is(200, { id: 1, name: 'Harbour' })
      .header('content-type', 'application/vnd.pgrst.object+json; charset=utf-8'),
)

representation.case(
  'object.none',
  'no row is no object',
  { source: `${docs}#singular-or-plural` },
  (t) =>
    t.get('conformance_branches?id=eq.99', { accept: object }).is(406, {
      code: 'PGRST116',
      message: 'Cannot coerce the result to a single JSON object',
      details: 'The result contains 0 rows',
      hint: null,
    }),
)

representation.case(
  'object.several',
  'several rows are no object',
  { source: `${errors}#pgrst116` },
  (t) =>
    t.get('conformance_branches?id=lt.3', { accept: object }).is(406, {
      code: 'PGRST116',
      message: 'Cannot coerce the result to a single JSON object',
      details: 'The result contains 2 rows',
      hint: null,
    }),
)

representation.case(
  'object.client',
  'single of the client library returns the row, or the refusal',
  { source: 'https://supabase.com/docs/reference/javascript/single' },
  async (t) => {
    const rows = () => t.anon.from('conformance_branches').select('name')
    t.data(await rows().eq('id', 3).single(), { name: 'Empty' })
    t.error(await rows().gte('id', 2).single(), partly({ code: 'PGRST116' }))
  },
)

representation.case(
  'object.maybe',
  'maybeSingle of the client library returns null where there is no row',
  { source: 'https://supabase.com/docs/reference/javascript/maybesingle' },
  async (t) => {
    const rows = t.anon.from('conformance_branches').select('name')
    t.data(await rows.eq('id', 99).maybeSingle(), null)
  },
)

representation.case(
  'object.update',
  'an update that changes several rows is no object, and changes nothing',
  { source: `${errors}#pgrst116`, needs: ['service'] },
  async (t) => {
    const [one, other] = [t.unique('one'), t.unique('other')]
    await t.rows('conformance_notes', [{ key: one }, { key: other }], 'key')
    const options = { accept: object, prefer: 'return=representation' }
    await t
      .patch(`conformance_notes?key=in.(${one},${other})`, { body: 'new' }, options)
      .has(406, { code: 'PGRST116', details: 'The result contains 2 rows' })
    await t
      .get(`conformance_notes?select=body&key=in.(${one},${other})`)
      .is(200, [{ body: 'empty' }, { body: 'empty' }])
  },
)

representation.case(
  'array.nulls-stripped',
  'members that are null are left out where that is asked for',
  { source: `${docs}#stripped-nulls` },
  async (t) => {
    const rows = t.anon.from('conformance_people').select('id,born,country').in('id', [4, 6])
    t.data(await rows.order('id').stripNulls(), [
      { id: 4, country: 'DE' },
      { id: 6, born: '1179-01-01' },
    ])
  },
)

representation.case(
  'object.nulls-stripped',
  'members of an object that are null are left out, too',
  { source: `${docs}#stripped-nulls` },
  (t) =>
    t
      .get('conformance_people?select=id,born&id=eq.4', { accept: `${object};nulls=stripped` })
      .is(200, { id: 4 }),
)

representation.case(
  'csv',
  'rows are CSV with the names of columns in the first line',
  { source: `${docs}#builtin-media-type-handlers` },
  (t) =>
    t
      .get('conformance_branches?select=id,name&order=id&id=lt.3', { accept: 'text/csv' })
      .text(200, /^id,name\n1,Harbour\n2,Hill\n?$/)
      .header('content-type', 'text/csv; charset=utf-8'),
)

representation.case(
  'csv.quoted',
  'values of CSV with quotes and commas are quoted',
  { source: `${docs}#builtin-media-type-handlers` },
  async (t) => {
    const rows = t.anon.from('conformance_people').select('id,name').eq('id', 5)
    t.data(await rows.csv(), /^id,name\n5,"Émilie \(du\) ""Ch,telet"""\n?$/)
  },
)

representation.case('negotiation', 'the first media type is taken that is available', (t) =>
  t
    .get('conformance_branches?select=id&id=eq.3', { accept: 'unknown/unknown, text/csv' })
    .text(200, /^id\n3\n?$/),
)

representation.case(
  'unknown',
  'a media type that is not available is refused by its name',
  { source: `${errors}#pgrst107` },
  (t) =>
    t.get('conformance_branches', { accept: 'unknown/unknown' }).is(406, {
      code: 'PGRST107',
      message: 'None of these media types are available: unknown/unknown',
      details: null,
      hint: null,
    }),
)

representation.case(
  'vary',
  'a response says which headers it depends on',
  { source: 'https://docs.postgrest.org/en/stable/references/api/vary_header.html' },
  (t) =>
    t
      .get('conformance_branches?id=eq.1')
      .is(200)
      .header('vary', /accept, prefer, range/i),
)

const plan = 'https://docs.postgrest.org/en/stable/references/observability.html#execution-plan'

representation.case(
  'plan',
  'the plan of a query is JSON with the suffix +json',
  { source: plan },
  async (t) => {
    const response = await t.get('conformance_numbers?select=n', {
      accept: 'application/vnd.pgrst.plan+json',
    })
    if (response.status === 406) t.absent('plans are not enabled')
    response
      .is(200, [partly({ Plan: partly({ 'Node Type': /^[A-Z]/ }) })])
      .header('content-type', /^application\/vnd\.pgrst\.plan\+json/)
  },
)

representation.case('plan.text', 'the plan of a query is text', { source: plan }, async (t) => {
  const response = await t.get('conformance_numbers?select=n', {
    accept: 'application/vnd.pgrst.plan',
  })
  if (response.status === 406) t.absent('plans are not enabled')
  response.text(200, /^[A-Z].*\(cost=[\d.]+ rows=\d+ width=\d+\)/)
})
