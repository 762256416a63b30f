import { group } from '../../case.ts'
import { partly } from '../../match.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/api/schemas.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'

export const profile = group('rest.profile', {
  title: 'Schemas',
  source: `${docs}#multiple-schemas`,
  needs: ['sql', 'service'],
})

profile.case('read', 'a read names its schema', { source: `${docs}#get-head` }, (t) =>
  t
    .get('conformance_branches?id=eq.1', { headers: { 'accept-profile': 'public' } })
    .is(200, [{ id: 1, name: 'Harbour' }]),
)

profile.case(
  'write',
  'a change names its schema',
  { source: `${docs}#other-methods` },
  async (t) => {
    const key = t.unique('profile')
    t.removesRows('conformance_notes', 'key', key)
    const rows = t.anon.schema('public').from('conformance_notes').insert({ key })
    t.data(await rows.select('key'), [{ key }])
  },
)

profile.case(
  'unknown',
  'a schema that is not exposed is refused by its name',
  { source: `${docs}#restricted-schemas` },
  (t) =>
    t.get('conformance_branches', { headers: { 'accept-profile': 'nowhere' } }).has(406, {
      code: 'PGRST106',
      message: 'Invalid schema: nowhere',
      hint: /^Only the following schemas are exposed: .*public/,
    }),
)

profile.case(
  'unknown.write',
  'a change in a schema that is not exposed is refused',
  { source: `${errors}#pgrst106` },
  (t) =>
    t
      .post('conformance_notes', { key: 'never' }, { headers: { 'content-profile': 'nowhere' } })
      .has(406, { code: 'PGRST106' }),
)

profile.case(
  'unknown.function',
  'a function in a schema that is not exposed is refused',
  { source: `${errors}#pgrst106` },
  async (t) => {
    const result = await t.anon.schema('nowhere').rpc('conformance_null')
    t.error(result, partly({ code: 'PGRST106' }))
  },
)

profile.case('catalog', 'the catalog of Postgres is not exposed', { source: docs }, (t) =>
  t.get('pg_class', { headers: { 'accept-profile': 'pg_catalog' } }).has(406, { code: 'PGRST106' }),
)

profile.case(
  'other-header',
  'a read does not look at the header of changes',
  { source: `${docs}#get-head` },
  (t) =>
    t
      .get('conformance_branches?id=eq.3', { headers: { 'content-profile': 'nowhere' } })
      .is(200, [{ id: 3, name: 'Empty' }]),
)
