import { group } from '../../case.ts'
import { partly } from '../../match.ts'

export const security = group('rest.security', {
  title: 'Roles and row-level security',
  source: 'https://supabase.com/docs/guides/database/postgres/row-level-security',
  needs: ['sql', 'service'],
})

security.case('role', 'policies see the role of the key', async (t) => {
  t.data(await t.anon.from('conformance_roles').select('id').order('id'), [{ id: 1 }, { id: 2 }])
})

security.case('owner', "a user sees and changes the user's own rows alone", async (t) => {
  const [owner, other] = await Promise.all([t.user(), t.user()])
  const key = t.unique('owned')
  t.removesRows('conformance_owned', 'key', key)
  t.ok(await owner.client.from('conformance_owned').insert({ key }))
  await t.get(`conformance_owned?select=key&key=eq.${key}`, { as: owner }).is(200, [{ key }])
  await t.get(`conformance_owned?select=key&key=eq.${key}`, { as: other }).is(200, [])
})

security.case(
  'privilege',
  'a table without a privilege is refused: 401 for the anonymous role',
  { source: 'https://docs.postgrest.org/en/stable/references/errors.html' },
  (t) => t.get('conformance_secret').has(401, { code: '42501' }),
)

security.case('service', 'the service role passes policies', async (t) => {
  t.data(await t.service.from('conformance_secret').select(), [{ id: 1, body: 'hidden' }])
})

const errors = 'https://docs.postgrest.org/en/stable/references/errors.html#http-status-codes'
const policies = 'https://supabase.com/docs/guides/database/postgres/row-level-security#policies'

security.case(
  'insert.foreign',
  'a policy refuses a row of another owner',
  { source: policies },
  async (t) => {
    const user = await t.user()
    const owner = '11111111-2222-3333-4444-555555555555'
    const result = await user.client
      .from('conformance_owned')
      .insert({ key: t.unique('foreign'), owner })
    t.error(result, partly({ code: '42501', message: /row-level security policy/ }))
  },
)

security.case(
  'insert.anonymous',
  'a table without a policy for the anonymous role takes no row of it',
  { source: errors },
  (t) => t.post('conformance_owned', { key: t.unique('nobody') }).has(401, { code: '42501' }),
)

security.case(
  'change.foreign',
  'policies hide the rows of others from updates and deletes',
  { source: policies },
  async (t) => {
    const [owner, other] = await Promise.all([t.user(), t.user()])
    const key = t.unique('hidden')
    await t.rows('conformance_owned', [{ key, owner: owner.id, body: 'mine' }], 'key')
    const path = `conformance_owned?key=eq.${key}&select=body`
    const prefer = 'return=representation'
    await t.patch(path, { body: 'yours' }, { as: other, prefer }).is(200, [])
    await t.delete(path, { as: other, prefer }).is(200, [])
    await t.get(path, { as: owner }).is(200, [{ body: 'mine' }])
  },
)

security.case(
  'shared',
  'a policy shows rows to all users, and still to be changed by the owner alone',
  { source: policies },
  async (t) => {
    const [owner, other] = await Promise.all([t.user(), t.user()])
    const key = t.unique('shared')
    await t.rows('conformance_owned', [{ key, owner: owner.id, shared: true }], 'key')
    const rows = () => other.client.from('conformance_owned')
    t.data(await rows().select('key').eq('key', key), [{ key }])
    t.data(await rows().update({ body: 'yours' }).eq('key', key).select(), [])
  },
)

security.case('role.user', 'policies see the role of a user', async (t) => {
  const user = await t.user()
  t.data(await user.client.from('conformance_roles').select('id').order('id'), [
    { id: 1 },
    { id: 3 },
  ])
})

security.case(
  'privilege.user',
  'a table without a privilege is refused: 403 for a user',
  { source: errors },
  async (t) => {
    const user = await t.user()
    await t.get('conformance_secret', { as: user }).has(403, { code: '42501' })
  },
)

security.case(
  'privilege.column',
  'columns with a privilege are read, and one without it is refused',
  { source: 'https://supabase.com/docs/guides/database/postgres/column-level-security' },
  async (t) => {
    await t.get('conformance_columns?select=id,open').is(200, [{ id: 1, open: 'open' }])
    await t.get('conformance_columns?select=id,closed').has(401, { code: '42501' })
  },
)

security.case(
  'privilege.function',
  'a function without a privilege is refused',
  { source: errors },
  (t) => t.post('rpc/conformance_forbidden', {}).has(401, { code: '42501' }),
)

security.case(
  'definer',
  'a function with the rights of its owner reads what its caller may not',
  { source: 'https://supabase.com/docs/guides/database/functions#security-definer-vs-invoker' },
  (t) => t.post('rpc/conformance_definer', {}).is(200, 'hidden'),
)
