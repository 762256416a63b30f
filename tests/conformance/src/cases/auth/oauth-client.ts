import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import { gotrue, openapi, refusal } from '../../gotrue.ts'
import { including, partly, some } from '../../match.ts'
import { probe, redirect_uri, registers } from '../../oauth.ts'

const guide = 'https://supabase.com/docs/guides/auth/oauth-server'
const service = { as: 'service' } as const

export const clients = group('auth.oauth-client', {
  title: 'Clients of the OAuth server',
  source: openapi(1920),
  needs: ['service'],
  probe,
})

clients.case(
  'create',
  'a client is registered, and told its secret',
  { source: openapi(1960) },
  async (t) => {
    const { client_name, response } = await registers(t)
    response.has(201, {
      ...{ client_id: some.uuid, client_secret: some.string, client_type: 'confidential' },
      ...{ client_name, redirect_uris: [redirect_uri], registration_type: 'manual' },
      token_endpoint_auth_method: 'client_secret_basic',
      response_types: ['code'],
      grant_types: ['authorization_code', 'refresh_token'],
      logo_uri: undefined,
      ...{ created_at: some.time, updated_at: some.time },
    })
  },
)

clients.case(
  'create.public',
  'a public client has no secret',
  { source: openapi(1960) },
  async (t) => {
    for (const body of [{ token_endpoint_auth_method: 'none' }, { client_type: 'public' }]) {
      const { response } = await registers(t, body)
      response.has(201, {
        ...{ client_type: 'public', client_secret: undefined, token_endpoint_auth_method: 'none' },
      })
    }
  },
)

clients.case(
  'client',
  'a stock client registers a client',
  { source: 'https://supabase.com/docs/reference/javascript/admin-oauth-createclient' },
  async (t) => {
    const client_name = t.unique('client')
    const { data, error } = await t.service.auth.admin.oauth.createClient({
      ...{ client_name, redirect_uris: [redirect_uri] },
    })
    t.after(() => t.discard(`/auth/v1/admin/oauth/clients/${String(data?.client_id)}`))
    t.data({ data, error }, partly({ client_id: some.uuid, client_name }))
  },
)

clients.case(
  'get',
  'a client is found by its id, without its secret',
  { source: openapi(2054) },
  async (t) => {
    const { client, client_name } = await registers(t)
    await t
      .get(`admin/oauth/clients/${client.client_id}`, service)
      .has(200, { client_id: client.client_id, client_name, client_secret: undefined })
  },
)

clients.case('list', 'all clients are listed', { source: openapi(1921) }, async (t) => {
  const { client, client_name } = await registers(t)
  await t.get('admin/oauth/clients', service).has(200, {
    clients: including(partly({ client_id: client.client_id, client_name })),
  })
})

clients.case('update', 'a client gets another name', { source: openapi(2081) }, async (t) => {
  const { client } = await registers(t, { client_uri: 'https://app.conformance.invalid' })
  const client_name = t.unique('renamed')
  const token_endpoint_auth_method = 'client_secret_post'
  const body = { client_name, client_uri: '', token_endpoint_auth_method }
  await t.put(`admin/oauth/clients/${client.client_id}`, body, service).has(200, {
    ...{ client_name, token_endpoint_auth_method },
    ...{ redirect_uris: [redirect_uri], client_uri: undefined },
  })
})

clients.case(
  'update.none',
  'a change has something in it',
  { source: gotrue('oauthserver/handlers.go', 180) },
  async (t) => {
    const { client } = await registers(t)
    await t
      .put(`admin/oauth/clients/${client.client_id}`, {}, service)
      .is(...refusal(400, 'validation_failed'))
  },
)

clients.case(
  'update.refused',
  'what cannot be registered cannot be changed to either',
  { source: gotrue('oauthserver/service.go', 23) },
  async (t) => {
    const { client } = await registers(t)
    for (const body of [
      { redirect_uris: [] },
      { grant_types: [] },
      { token_endpoint_auth_method: 'none' },
      { token_endpoint_auth_method: 'pigeon' },
    ]) {
      await t
        .put(`admin/oauth/clients/${client.client_id}`, body, service)
        .is(...refusal(400, 'validation_failed'))
    }
  },
)

clients.case('delete', 'a deleted client is gone', { source: openapi(2156) }, async (t) => {
  const { client } = await registers(t)
  const path = `admin/oauth/clients/${client.client_id}`
  await t.delete(path, service).empty(204)
  await t.get(path, service).is(...refusal(404, 'oauth_client_not_found'))
})

clients.case('secret', 'a client gets another secret', { source: openapi(2187) }, async (t) => {
  const { client } = await registers(t)
  const path = `admin/oauth/clients/${client.client_id}/regenerate_secret`
  const response = await t
    .post(path, undefined, service)
    .has(200, { client_id: client.client_id, client_secret: some.string })
  t.equal(response.field('client_secret') === client.client_secret, false, null)
})

clients.case(
  'secret.public',
  'a public client gets no secret',
  { source: gotrue('oauthserver/handlers.go', 215) },
  async (t) => {
    const { client } = await registers(t, { token_endpoint_auth_method: 'none' })
    await t
      .post(`admin/oauth/clients/${client.client_id}/regenerate_secret`, undefined, service)
      .is(...refusal(400, 'validation_failed'))
  },
)

clients.case(
  'unknown',
  'an unknown client is not found',
  { source: gotrue('oauthserver/handlers.go', 96) },
  async (t) => {
    const path = `admin/oauth/clients/${randomUUID()}`
    const unknown = refusal(404, 'oauth_client_not_found')
    await t.get(path, service).is(...unknown)
    await t.put(path, { client_name: 'x' }, service).is(...unknown)
    await t.delete(path, service).is(...unknown)
  },
)

clients.case(
  'malformed',
  'a client is named by a UUID',
  { source: gotrue('oauthserver/handlers.go', 88) },
  (t) => t.get('admin/oauth/clients/seven', service).is(...refusal(400, 'validation_failed')),
)

const refused: [string, string, Record<string, unknown>, number][] = [
  ['address.none', 'a client has an address to lead back to', { redirect_uris: [] }, 29],
  [
    'address.many',
    'a client has ten addresses at most',
    { redirect_uris: Array.from({ length: 11 }, (_, at) => `${redirect_uri}/${at}`) },
    33,
  ],
  ['address.fragment', 'an address has no fragment', { redirect_uris: [`${redirect_uri}#x`] }, 182],
  [
    'address.plain',
    'an address elsewhere is reached by HTTPS',
    { redirect_uris: ['http://app.conformance.invalid/back'] },
    182,
  ],
  [
    'address.script',
    'an address is no script',
    { redirect_uris: ['javascript://app.conformance.invalid/%0aalert(1)'] },
    198,
  ],
  ['page', 'the page of a client is a URL', { client_uri: 'nowhere' }, 78],
  ['logo', 'the logo of a client is a URL', { logo_uri: 'nowhere' }, 95],
  ['grant', 'a grant that is none is refused', { grant_types: ['password'] }, 53],
  ['name', 'a name has 1024 characters at most', { client_name: 'a'.repeat(1025) }, 63],
  ['method', 'a method that is none is refused', { token_endpoint_auth_method: 'pigeon' }, 162],
  [
    'type',
    'a confidential client has a secret',
    { client_type: 'confidential', token_endpoint_auth_method: 'none' },
    168,
  ],
  [
    'type.public',
    'a public client shows no secret',
    { client_type: 'public', token_endpoint_auth_method: 'client_secret_basic' },
    168,
  ],
  ['type.unknown', 'a type that is none is refused', { client_type: 'secret' }, 154],
]
for (const [name, promise, body, line] of refused) {
  clients.case(name, promise, { source: gotrue('oauthserver/service.go', line) }, async (t) => {
    const { response } = await registers(t, body)
    response.is(...refusal(400, 'validation_failed'))
  })
}

clients.case(
  'dynamic',
  'who registers itself is registered, or told that this is off',
  { source: `${guide}/mcp-authentication` },
  async (t) => {
    const body = { client_name: t.unique('client'), redirect_uris: [redirect_uri] }
    const response = await t.post('oauth/clients/register', body)
    if (response.status === 403) {
      response.is(...refusal(403, 'oauth_dynamic_client_registration_disabled'))
      return
    }
    t.after(() => t.discard(`/auth/v1/admin/oauth/clients/${response.field('client_id')}`))
    response.has(201, { client_id: some.uuid, registration_type: 'dynamic' })
  },
)
