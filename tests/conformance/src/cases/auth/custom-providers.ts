import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { gotrue, openapi, redirects, refusal } from '../../gotrue.ts'
import { including, partly, some, without } from '../../match.ts'

const service = { as: 'service' } as const
const path = 'admin/custom-providers'

export const providers = group('auth.custom-provider', {
  title: 'Providers of one’s own',
  source: openapi(2222),
  needs: ['service'],
  probe: async (t) => t.present(await t.get(path, service)),
})

/** Returns what a provider is made of. Its host has to be public, but is never asked; a number needs no name server. */
const attributes = (t: Context) => ({
  provider_type: 'oauth2',
  identifier: `custom:${t.unique('provider').replaceAll('_', '-')}`,
  name: 'The club',
  client_id: 'terrace',
  client_secret: 'the secret of the club',
  authorization_url: 'https://1.1.1.1/authorize',
  token_url: 'https://1.1.1.1/token',
  userinfo_url: 'https://1.1.1.1/userinfo',
})

/** Makes a provider, and removes it after the case. */
async function makes(t: Context, changes: Record<string, unknown> = {}) {
  const body = { ...attributes(t), ...changes }
  const response = await t.post(path, body, service)
  if (response.status === 201) t.after(() => t.discard(`/auth/v1/${path}/${body.identifier}`))
  return { response, identifier: body.identifier }
}

providers.case(
  'create',
  'a provider is made, and its secret is told to nobody',
  { source: openapi(2273) },
  async (t) => {
    const { response, identifier } = await makes(t)
    response.has(201, {
      ...{ id: some.uuid, identifier, name: 'The club', client_id: 'terrace' },
      ...{ client_secret: undefined, provider_type: 'oauth2', enabled: true, pkce_enabled: true },
      ...{ authorization_url: 'https://1.1.1.1/authorize', created_at: some.time },
    })
  },
)

providers.case('get', 'a provider is found by its name', { source: openapi(2483) }, async (t) => {
  const { identifier } = await makes(t)
  await t
    .get(`${path}/${identifier}`, service)
    .has(200, { identifier, name: 'The club', client_secret: undefined })
})

providers.case('list', 'all providers are listed', { source: openapi(2223) }, async (t) => {
  const { identifier } = await makes(t)
  await t
    .get(`${path}?type=oauth2`, service)
    .has(200, { providers: including(partly({ identifier })) })
  await t.get(`${path}?type=oidc`, service).has(200, { providers: without(partly({ identifier })) })
})

providers.case(
  'list.type',
  'a type that is none is refused',
  { source: gotrue('custom_oauth_admin.go', 87) },
  (t) => t.get(`${path}?type=pigeon`, service).is(...refusal(400, 'validation_failed')),
)

providers.case('update', 'a provider gets another name', { source: openapi(2529) }, async (t) => {
  const { identifier } = await makes(t)
  await t
    .put(`${path}/${identifier}`, { name: 'The other club' }, service)
    .has(200, { identifier, name: 'The other club', client_id: 'terrace' })
})

providers.case('delete', 'a deleted provider is gone', { source: openapi(2666) }, async (t) => {
  const { identifier } = await makes(t)
  await t.delete(`${path}/${identifier}`, service).empty(204)
  await t.get(`${path}/${identifier}`, service).is(...refusal(404, 'custom_provider_not_found'))
})

providers.case(
  'sign-in',
  'who signs in with it is led to its page',
  { source: 'https://supabase.com/docs/guides/auth/custom-oauth-providers' },
  async (t) => {
    const { identifier } = await makes(t, { scopes: ['openid', 'team'] })
    redirects(t, await t.get(`authorize?provider=${encodeURIComponent(identifier)}`), 302, {
      to: 'https://1.1.1.1/authorize',
      query: partly({
        ...{ client_id: 'terrace', response_type: 'code', scope: /openid.*team/ },
        ...{ code_challenge: some.string, code_challenge_method: /^s256$/i },
      }),
    })
  },
)

providers.case(
  'sign-in.off',
  'a provider that is off leads nowhere',
  { source: gotrue('external.go', 706) },
  async (t) => {
    const { identifier } = await makes(t, { enabled: false })
    await t
      .get(`authorize?provider=${encodeURIComponent(identifier)}`)
      .is(...refusal(400, 'validation_failed'))
  },
)

providers.case(
  'taken',
  'a name has one provider',
  { source: gotrue('custom_oauth_admin.go', 187) },
  async (t) => {
    const { identifier } = await makes(t)
    const { response } = await makes(t, { identifier })
    response.is(...refusal(400, 'conflict'))
  },
)

const refusals: [string, string, Record<string, unknown>, number][] = [
  ['type', 'a provider is of one of two kinds', { provider_type: 'pigeon' }, 152],
  ['identifier', 'a name begins with custom', { identifier: 'github' }, 421],
  ['name.none', 'a provider has a name to show', { name: '' }, 429],
  ['client.none', 'a provider knows the service by an id', { client_id: '' }, 432],
  ['secret.none', 'a provider knows the service by a secret', { client_secret: '' }, 435],
  ['page.none', 'a provider has a page', { authorization_url: '' }, 445],
  ['token.none', 'a provider exchanges codes', { token_url: '' }, 448],
  ['user.none', 'a provider tells who somebody is', { userinfo_url: '' }, 451],
  ['issuer.none', 'a provider of OpenID Connect is an issuer', { provider_type: 'oidc' }, 441],
  [
    'parameter',
    'nobody sets the parameters of OAuth',
    { authorization_params: { state: 'x' } },
    672,
  ],
  ['parameter.type', 'a parameter is a text', { authorization_params: { prompt: 1 } }, 678],
]
for (const [name, promise, changes, line] of refusals) {
  providers.case(
    `invalid.${name}`,
    promise,
    { source: gotrue('custom_oauth_admin.go', line) },
    async (t) => {
      const { response } = await makes(t, changes)
      response.is(...refusal(400, 'validation_failed'))
    },
  )
}

providers.case(
  'unknown',
  'an unknown provider is not found',
  { source: gotrue('custom_oauth_admin.go', 130) },
  async (t) => {
    const unknown = refusal(404, 'custom_provider_not_found')
    await t.get(`${path}/custom:no-such-provider`, service).is(...unknown)
    await t.put(`${path}/custom:no-such-provider`, { name: 'x' }, service).is(...unknown)
    await t.delete(`${path}/custom:no-such-provider`, service).is(...unknown)
  },
)

providers.case(
  'malformed',
  'a name without its prefix is refused',
  { source: gotrue('custom_oauth_admin.go', 121) },
  (t) => t.get(`${path}/no-such-provider`, service).is(...refusal(400, 'validation_failed')),
)

providers.case('user', 'users see no providers', { source: openapi(2223) }, async (t) => {
  const user = await t.user()
  await t.get(path, { as: user }).is(...refusal(403, 'not_admin'))
})
