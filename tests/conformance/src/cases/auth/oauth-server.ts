import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { User } from '../../context.ts'
import { claimsOf, gotrue, openapi, pkce, redirects, refusal, target } from '../../gotrue.ts'
import { including, partly, some } from '../../match.ts'
import {
  asks,
  authorization,
  consented,
  grant,
  probe,
  redirect_uri,
  registers,
  signedIn,
  token,
} from '../../oauth.ts'

const guide = 'https://supabase.com/docs/guides/auth/oauth-server'

export const server = group('auth.oauth-server', {
  title: 'Signing in elsewhere with an account of here',
  source: `${guide}/oauth-flows`,
  needs: ['service'],
  probe,
})

server.case('authorize', 'a client is led to the page for consent', async (t) => {
  const { client } = await registers(t)
  const response = await asks(t, { client_id: client.client_id })
  const { query } = target(response.headerValue('location'))
  if (query.error === 'server_error') t.absent('there is no page for consent')
  redirects(t, response, 302, { query: { authorization_id: some.string } })
})

const direct: [string, string, Record<string, string | undefined>, string, number][] = [
  ['client.none', 'a client names itself', { client_id: undefined }, 'validation_failed', 437],
  [
    'client.unknown',
    'an unknown client is refused',
    { client_id: randomUUID() },
    'oauth_client_not_found',
    119,
  ],
  [
    'client.malformed',
    'a client is named by a UUID',
    { client_id: 'seven' },
    'oauth_client_not_found',
    113,
  ],
]
for (const [name, promise, query, code, line] of direct) {
  server.case(
    `authorize.${name}`,
    promise,
    { source: gotrue('oauthserver/authorize.go', line) },
    (t) => asks(t, query).is(...refusal(400, code)),
  )
}

server.case(
  'authorize.address',
  'nobody is led to an address that the client has not registered',
  { source: gotrue('oauthserver/authorize.go', 127) },
  async (t) => {
    const { client } = await registers(t)
    for (const other of [`${redirect_uri}/elsewhere`, `${redirect_uri}?more=1`, undefined]) {
      await asks(t, { client_id: client.client_id, redirect_uri: other }).is(
        ...refusal(400, 'validation_failed'),
      )
    }
  },
)

const led: [string, string, Record<string, string | undefined>, number][] = [
  ['challenge', 'a client has to send a challenge', { code_challenge: undefined }, 478],
  ['challenge.short', 'a challenge has 43 characters at least', { code_challenge: 'x' }, 491],
  ['method', 'an unknown method of challenges is refused', { code_challenge_method: 'rot13' }, 478],
  ['method.none', 'a challenge comes with its method', { code_challenge_method: undefined }, 481],
  ['response', 'a client is given a code, nothing else', { response_type: 'token' }, 447],
  ['scope', 'an unknown scope is refused', { scope: 'email everything' }, 530],
  ['scope.blank', 'a scope that is blank is refused', { scope: ' ' }, 536],
  ['resource', 'a resource is a whole URI', { resource: 'seven' }, 499],
]
for (const [name, promise, query, line] of led) {
  server.case(
    `authorize.${name}`,
    promise,
    { source: gotrue('oauthserver/authorize.go', line) },
    async (t) => {
      const { client } = await registers(t)
      redirects(t, await asks(t, { client_id: client.client_id, ...query }), 302, {
        to: redirect_uri,
        query: { error: 'invalid_request', error_description: some.string, state: 'seven' },
      })
    },
  )
}

server.case(
  'details',
  'the page is told who asks for what',
  { source: openapi(2923) },
  async (t) => {
    const { client, client_name } = await registers(t)
    const user = await t.user()
    const authorization_id = await authorization(t, client, 'email profile')
    const details = {
      ...{ authorization_id, redirect_uri, scope: 'email profile' },
      client: partly({ id: client.client_id, name: client_name }),
      user: { id: user.id, email: user.email },
    }
    await t.get(`oauth/authorizations/${authorization_id}`, { as: user }).is(200, details)
    // The page may be loaded again.
    await t.get(`oauth/authorizations/${authorization_id}`, { as: user }).is(200, details)
  },
)

server.case(
  'details.unknown',
  'an unknown question is not found',
  { source: gotrue('oauthserver/authorize.go', 210) },
  async (t) => {
    const user = await t.user()
    const path = 'oauth/authorizations/no-such-authorization'
    const unknown = refusal(404, 'oauth_authorization_not_found')
    await t.get(path, { as: user }).is(...unknown)
    await t.post(`${path}/consent`, { action: 'deny' }, { as: user }).is(...unknown)
  },
)

server.case(
  'details.foreign',
  'a question belongs to who saw it first',
  { source: gotrue('oauthserver/authorize.go', 246) },
  async (t) => {
    const { client } = await registers(t)
    const path = `oauth/authorizations/${await authorization(t, client)}`
    const [one, other] = await Promise.all([t.user(), t.user()])
    const consents = (as: User) => t.post(`${path}/consent`, { action: 'approve' }, { as })
    const foreign = refusal(404, 'oauth_authorization_not_found')
    // Nobody consents to what they have not seen.
    await consents(one).is(...foreign)
    await t.get(path, { as: one }).is(200)
    await t.get(path, { as: other }).is(...foreign)
    await consents(other).is(...foreign)
    await consents(one).is(200)
  },
)

server.case(
  'client.gone',
  'a deleted client asks for nothing any more',
  { source: gotrue('oauthserver/authorize.go', 276) },
  async (t) => {
    const { client, user } = await signedIn(t)
    const path = `oauth/authorizations/${await authorization(t, client, 'profile')}`
    await t.delete(`admin/oauth/clients/${client.client_id}`, { as: 'service' }).empty(204)
    await asks(t, { client_id: client.client_id }).is(...refusal(400, 'oauth_client_not_found'))
    await t.get(path, { as: user }).is(...refusal(404, 'oauth_authorization_not_found'))
    await t.get('user/oauth/grants', { as: user }).is(200, [])
  },
)

server.case(
  'details.origin',
  'pages of other origins are refused',
  { source: gotrue('oauthserver/authorize.go', 418) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    const path = `oauth/authorizations/${await authorization(t, client)}`
    await t
      .get(path, { as: user, headers: { origin: 'https://evil.conformance.invalid' } })
      .is(...refusal(400, 'validation_failed'))
  },
)

server.case(
  'consent',
  'who consents is led back with a code',
  { source: openapi(2993) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    const path = `oauth/authorizations/${await authorization(t, client)}`
    await t.get(path, { as: user }).is(200)
    await t.post(`${path}/consent`, { action: 'approve' }, { as: user }).is(200, {
      redirect_url: /^https:\/\/app\.conformance\.invalid\/back\?(?=.*code=[^&]+)(?=.*state=seven)/,
    })
  },
)

server.case(
  'consent.denied',
  'who refuses is led back with the refusal',
  { source: openapi(2993) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    const path = `oauth/authorizations/${await authorization(t, client)}`
    await t.get(path, { as: user }).is(200)
    await t.post(`${path}/consent`, { action: 'deny' }, { as: user }).is(200, {
      redirect_url: /\/back\?(?=.*error=access_denied)(?=.*state=seven)(?!.*[?&]code=)/,
    })
    const decided = refusal(400, 'validation_failed')
    await t.post(`${path}/consent`, { action: 'approve' }, { as: user }).is(...decided)
    await t.get(path, { as: user }).is(...decided)
    await t.get('user/oauth/grants', { as: user }).is(200, [])
  },
)

server.case(
  'consent.malformed',
  'a response is yes or no',
  { source: gotrue('oauthserver/authorize.go', 322) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    const path = `oauth/authorizations/${await authorization(t, client)}`
    for (const body of [{ action: 'perhaps' }, {}]) {
      await t.post(`${path}/consent`, body, { as: user }).is(...refusal(400, 'validation_failed'))
    }
  },
)

server.case(
  'consent.kept',
  'who has consented is not asked again',
  { source: openapi(2930) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    await consented(t, client, user, 'email profile')
    const looks = async (scope: string) =>
      t.get(`oauth/authorizations/${await authorization(t, client, scope)}`, { as: user })
    const less = await looks('profile')
    less.is(200, { redirect_url: /\/back\?(?=.*code=[^&]+)/ })
    const more = await looks('profile phone')
    more.has(200, { scope: 'profile phone' })
  },
)

server.case('token', 'the code is exchanged for tokens', { source: openapi(2792) }, async (t) => {
  const { response } = await signedIn(t)
  response.has(200, {
    ...{ access_token: some.token, token_type: 'bearer' },
    ...{ expires_in: some.number, refresh_token: some.string },
    // A client learns of the user what it asks for, by other ways.
    ...{ user: undefined, id_token: undefined },
  })
})

server.case(
  'token.claims',
  'the token says for which client it is',
  { source: `${guide}/token-security` },
  async (t) => {
    const { response, client, user } = await signedIn(t)
    response.has(200, { access_token: some.token })
    t.equal(
      claimsOf(response.field('access_token')),
      partly({
        ...{ client_id: client.client_id, sub: user.id, role: 'authenticated', scope: 'email' },
        amr: including(partly({ method: 'oauth_provider/authorization_code' })),
      }),
      null,
    )
  },
)

server.case(
  'token.used',
  'a code is good for one time',
  { source: gotrue('oauthserver/handlers.go', 399) },
  async (t) => {
    const { client, code } = await signedIn(t)
    await token(t, client, grant(code)).is(400, partly({ error: 'invalid_grant' }))
  },
)

const wrong: [string, string, Record<string, string>, number][] = [
  ['verifier', 'another verifier is refused', { code_verifier: pkce().verifier }, 366],
  ['address', 'another address is refused', { redirect_uri: `${redirect_uri}/elsewhere` }, 361],
  ['code', 'an unknown code is refused', { code: randomUUID() }, 339],
]
for (const [name, promise, more, line] of wrong) {
  server.case(
    `token.${name}`,
    promise,
    { source: gotrue('oauthserver/handlers.go', line) },
    async (t) => {
      const { client } = await registers(t)
      const code = await consented(t, client, await t.user())
      await token(t, client, grant(code, more)).is(400, partly({ error: 'invalid_grant' }))
    },
  )
}

server.case(
  'token.secret',
  'a client with another secret is refused',
  { source: gotrue('middleware.go', 174) },
  async (t) => {
    const { client } = await registers(t)
    const code = await consented(t, client, await t.user())
    const refused = refusal(400, 'invalid_credentials')
    await token(t, { ...client, client_secret: 'x' }, grant(code)).is(...refused)
    await token(t, { ...client, client_id: randomUUID() }, grant(code)).is(...refused)
    // The code is still its client's.
    await token(t, client, grant(code)).has(200, { access_token: some.token })
  },
)

server.case(
  'token.method',
  'a client shows its secret as it said',
  { source: gotrue('middleware.go', 179) },
  async (t) => {
    const { client } = await registers(t)
    const { client_id, client_secret } = client
    const form = new URLSearchParams({ ...grant(randomUUID()), client_id, client_secret })
    await t
      .post('oauth/token', form, { as: 'nobody', headers: { apikey: t.target.anonKey } })
      .is(...refusal(400, 'invalid_credentials'))
  },
)

for (const [name, method, promise] of [
  ['public', 'none', 'a public client needs no secret'],
  ['body', 'client_secret_post', 'a client shows its secret in the body if it said so'],
] as const) {
  server.case(`token.${name}`, promise, { source: `${guide}/oauth-flows` }, async (t) => {
    const { client } = await registers(t, { token_endpoint_auth_method: method })
    const code = await consented(t, client, await t.user())
    const { client_id, client_secret } = client
    const shown = { client_id, ...(name === 'body' ? { client_secret } : {}) }
    await t
      .post('oauth/token', new URLSearchParams({ ...grant(code), ...shown }), {
        ...{ as: 'nobody', headers: { apikey: t.target.anonKey } },
      })
      .has(200, { access_token: some.token })
  })
}

server.case(
  'token.json',
  'the request may be JSON',
  { source: gotrue('oauthserver/handlers.go', 272) },
  async (t) => {
    const { client } = await registers(t, { token_endpoint_auth_method: 'none' })
    const code = await consented(t, client, await t.user())
    const body = { ...grant(code), client_id: client.client_id }
    await t
      .post('oauth/token', body, { as: 'nobody', headers: { apikey: t.target.anonKey } })
      .has(200, { access_token: some.token })
  },
)

const refresh = { grant_type: 'refresh_token' }
const unusable: [string, string, Record<string, string>, string, number][] = [
  ['grant', 'another grant is refused', { grant_type: 'password' }, 'unsupported_grant_type', 303],
  ['grant.none', 'a grant has to be told', { grant_type: '' }, 'invalid_request', 293],
  ['code.none', 'a code has to be told', grant(''), 'invalid_request', 319],
  ['refresh.none', 'a refresh token has to be told', refresh, 'invalid_request', 481],
]
for (const [name, promise, body, error, line] of unusable) {
  server.case(
    `token.${name}`,
    promise,
    { source: gotrue('oauthserver/handlers.go', line) },
    async (t) => {
      const { client } = await registers(t)
      await token(t, client, body).is(400, partly({ error }))
    },
  )
}

server.case(
  'token.grant.client',
  'a client uses the grants that it is registered for',
  { source: gotrue('oauthserver/handlers.go', 302) },
  async (t) => {
    const { client } = await registers(t, { grant_types: ['authorization_code'] })
    await token(t, client, { ...refresh, refresh_token: 'abcdefghijkl' }).is(
      400,
      partly({ error: 'unsupported_grant_type' }),
    )
  },
)

server.case(
  'refresh',
  'a client refreshes its session',
  { source: `${guide}/oauth-flows` },
  async (t) => {
    const { client, user, response } = await signedIn(t)
    const second = await token(t, client, {
      ...{ ...refresh, refresh_token: response.field('refresh_token') },
    }).has(200, { access_token: some.token, refresh_token: some.string })
    t.equal(
      claimsOf(second.field('access_token')),
      partly({ sub: user.id, client_id: client.client_id }),
      null,
    )
  },
)

server.case(
  'refresh.elsewhere',
  'the session of a client is not refreshed as one of a user',
  {
    source:
      'https://github.com/supabase/auth/blob/bc32168e13fdc928c98b449fc76bc3fdb9a293c5/internal/tokens/service.go#L296',
  },
  async (t) => {
    const { response } = await signedIn(t)
    await t
      .post('token?grant_type=refresh_token', { refresh_token: response.field('refresh_token') })
      .is(400, partly({ error: 'invalid_client' }))
  },
)

server.case(
  'user-info',
  'the token tells the client about the user, as far as was asked for',
  { source: gotrue('oauthserver/handlers.go', 649) },
  async (t) => {
    const { user, response } = await signedIn(t, 'email')
    await t
      .get('oauth/userinfo', { as: { token: response.field('access_token') } })
      .is(200, { sub: user.id, email: user.email, email_verified: true })
    // The user's own session was asked for nothing.
    await t.get('oauth/userinfo', { as: user }).is(200, { sub: user.id })
  },
)

server.case(
  'user-info.profile',
  'the profile is told where it was asked for',
  { source: gotrue('oauthserver/handlers.go', 649) },
  async (t) => {
    const { user, response } = await signedIn(t, 'profile')
    await t
      .get('oauth/userinfo', { as: { token: response.field('access_token') } })
      .has(200, { sub: user.id, user_metadata: some.object, email: undefined })
  },
)

server.case('grants', 'a user sees who may sign in', { source: openapi(824) }, async (t) => {
  const { client, user } = await signedIn(t)
  await t
    .get('user/oauth/grants', { as: user })
    .is(200, [
      { client: partly({ id: client.client_id }), scopes: ['email'], granted_at: some.time },
    ])
})

server.case(
  'grants.revoked',
  "a client's sessions end when the user takes the consent back",
  { source: openapi(876) },
  async (t) => {
    const { client, user, response } = await signedIn(t)
    const as = { token: response.field('access_token') }
    await t.delete(`user/oauth/grants?client_id=${client.client_id}`, { as: user }).empty(204)
    await t.get('user/oauth/grants', { as: user }).is(200, [])
    await token(t, client, { ...refresh, refresh_token: response.field('refresh_token') }).is(
      ...refusal(400, 'refresh_token_not_found'),
    )
    await t.get('user', { as }).is(...refusal(403, 'session_not_found'))
    // The user's own session goes on, and the next request of the client is asked about again.
    await t.get('user', { as: user }).has(200, { id: user.id })
    await t
      .get(`oauth/authorizations/${await authorization(t, client)}`, { as: user })
      .has(200, { scope: 'email' })
  },
)

server.case(
  'grants.malformed',
  'what is taken back is named by the id of a client',
  { source: gotrue('oauthserver/handlers.go', 587) },
  async (t) => {
    const user = await t.user()
    for (const query of ['', '?client_id=seven']) {
      await t
        .delete(`user/oauth/grants${query}`, { as: user })
        .is(...refusal(400, 'validation_failed'))
    }
  },
)

server.case(
  'grants.unknown',
  'nothing is taken back that was not given',
  { source: gotrue('oauthserver/handlers.go', 607) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    await t
      .delete(`user/oauth/grants?client_id=${client.client_id}`, { as: user })
      .is(...refusal(404, 'oauth_consent_not_found'))
  },
)
