import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { including, partly, some, without } from '../../match.ts'
import { project, reference, until } from '../../platform.ts'

export const key = group('platform.key', {
  title: 'API keys',
  source: reference('v1-get-project-api-keys'),
  needs: ['platform'],
})

/** What only secret keys may do. */
const secretPath = '/auth/v1/admin/users?page=1&per_page=1'

/** Makes a secret key as set-up, and removes it after the case. */
async function secretKey(t: Context): Promise<{ id: string; value: string }> {
  const wanted = { type: 'secret', name: t.unique('key') }
  const made = await t.prepare('POST', project(t, 'api-keys?reveal=true'), wanted)
  const id = String(made.id)
  t.after(() => t.discard(project(t, `api-keys/${id}`)))
  return { id, value: String(made.api_key) }
}

key.case('list', 'the keys of the project are listed with their names', (t) =>
  t
    .get(project(t, 'api-keys?reveal=true'))
    .is(200, including(partly({ name: some.string, api_key: t.target.anonKey }))),
)

key.case('reveal', 'a secret key is shown if that is asked for', async (t) => {
  const { id, value } = await secretKey(t)
  await t
    .get(project(t, 'api-keys?reveal=true'))
    .is(200, including(partly({ id, type: 'secret', api_key: value })))
})

key.case('masked', 'a secret key is not shown otherwise', async (t) => {
  const { id, value } = await secretKey(t)
  // Keys have letters, digits, - and _ only.
  const masked = new RegExp(`^(?!${value}$)sb_secret_`)
  await t.get(project(t, 'api-keys')).is(200, including(partly({ id, api_key: masked })))
})

key.case(
  'get',
  'a key is found by its id',
  { source: reference('v1-get-project-api-key') },
  async (t) => {
    const { id, value } = await secretKey(t)
    await t
      .get(project(t, `api-keys/${id}?reveal=true`))
      .has(200, { id, type: 'secret', name: some.string, api_key: value })
  },
)

key.case(
  'create',
  'a secret key that is made gives access to the project',
  { source: reference('v1-create-project-api-key') },
  async (t) => {
    const name = t.unique('key')
    const wanted = { type: 'secret', name, description: 'of the kit' }
    const made = await t.post(project(t, 'api-keys?reveal=true'), wanted)
    t.after(() => t.discard(project(t, `api-keys/${made.field('id')}`)))
    made.has(201, {
      id: some.string,
      type: 'secret',
      name,
      description: 'of the kit',
      api_key: /^sb_secret_/,
    })
    const headers = { apikey: made.field('api_key') }
    await until(t, secretPath, (status) => status === 200, headers)
    await t.get(secretPath, { as: 'nobody', headers }).has(200, { users: some.array })
  },
)

key.case(
  'create.name',
  'a name of a key has lowercase letters, digits and underscores',
  { source: reference('v1-create-project-api-key') },
  (t) => {
    const wanted = { type: 'secret', name: 'Not valid!' }
    return t.post(project(t, 'api-keys'), wanted).has(400, { message: some.string })
  },
)

key.case(
  'update.description',
  'the description of a key is changed and removed',
  { source: reference('v1-update-project-api-key') },
  async (t) => {
    const { id } = await secretKey(t)
    const path = project(t, `api-keys/${id}`)
    await t.patch(path, { description: 'of the kit' }).has(200, { id, description: 'of the kit' })
    await t.patch(path, { description: null }).has(200, { id, description: null })
  },
)

key.case(
  'delete',
  'a key that is deleted gives no access any more, and is not listed',
  { source: reference('v1-delete-project-api-key') },
  async (t) => {
    const { id, value } = await secretKey(t)
    await t.delete(project(t, `api-keys/${id}`)).has(200, { id })
    await t.get(project(t, 'api-keys')).is(200, without(partly({ id })))
    const headers = { apikey: value }
    await until(t, secretPath, (status) => status === 401, headers)
    await t.get(secretPath, { as: 'nobody', headers }).is(401)
  },
)
