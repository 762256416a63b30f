import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context, User } from '../../context.ts'
import { claimsOf, gotrue, openapi, pkce, redirects, refusal, target } from '../../gotrue.ts'
import { including, partly, some } from '../../match.ts'
import { probe, redirect_uri, registers, type Client } from '../../oauth.ts'

const guide = 'https://supabase.com/docs/guides/auth/oauth-server'

export const server = group('auth.oauth-server', {
  title: 'Signing in elsewhere with an account of here',
  source: `${guide}/oauth-flows`,
  needs: ['service'],
  probe,
})

const { verifier, challenge } = pkce()
const proof = { code_challenge: challenge, code_challenge_method: 's256' }

/** Asks as a client for a code. */
function asks(t: Context, more: Record<string, string | undefined>) {
  const wanted: Record<string, string | undefined> = {
    ...{ redirect_uri, response_type: 'code', state: 'seven', ...proof, ...more },
  }
  const given = Object.entries(wanted).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]],
  )
  return t.get(`oauth/authorize?${new URLSearchParams(given).toString()}`, {
    ...{ as: 'nobody', headers: { apikey: t.target.anonKey } },
  })
}

/** Returns the consent page to which a client's request redirects: its path is a setting, and may be missing. */
async function authorization(t: Context, client: Client, scope = 'email') {
  const response = await asks(t, { client_id: client.client_id, scope })
  const { query } = target(response.headerValue('location'))
  if (query.error === 'server_error') t.absent('there is no page for consent')
  return query.authorization_id ?? ''
}

/** Has a user consent, and returns the code for the client. */
async function consented(t: Context, client: Client, user: User, scope?: string) {
  const path = `oauth/authorizations/${await authorization(t, client, scope)}`
  await t.get(path, { as: user }).is(200)
  const response = await t.post(`${path}/consent`, { action: 'approve' }, { as: user }).is(200)
  return target(response.field('redirect_url')).query.code ?? ''
}

const basic = ({ client_id, client_secret }: Client) => ({
  authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
})

/** Asks the token endpoint as a client with its secret. */
const token = (t: Context, client: Client, body: Record<string, string>) =>
  t.post('oauth/token', new URLSearchParams(body), {
    ...{ as: 'nobody', headers: { apikey: t.target.anonKey, ...basic(client) } },
  })

const grant = (code: string, more: Record<string, string> = {}) => ({
  ...{ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier, ...more },
})

/** Does a whole sign-in, and returns it: client, user, and the response with the tokens. */
async function signedIn(t: Context, scope?: string) {
  const { client } = await registers(t)
  const user = await t.user()
  const code = await consented(t, client, user, scope)
  return { client, user, code, response: await token(t, client, grant(code)) }
}

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
    await asks(t, {
      client_id: client.client_id,
      redirect_uri: `${redirect_uri}/elsewhere`,
    }).is(...refusal(400, 'validation_failed'))
  },
)

const led: [string, string, Record<string, string | undefined>, number][] = [
  ['challenge', 'a client has to send a challenge', { code_challenge: undefined }, 478],
  ['method', 'an unknown method of challenges is refused', { code_challenge_method: 'rot13' }, 478],
  ['response', 'a client is given a code, nothing else', { response_type: 'token' }, 447],
  ['scope', 'an unknown scope is refused', { scope: 'email everything' }, 530],
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
    await t.get(`oauth/authorizations/${authorization_id}`, { as: user }).is(200, {
      ...{ authorization_id, redirect_uri, scope: 'email profile' },
      client: partly({ id: client.client_id, name: client_name }),
      user: { id: user.id, email: user.email },
    })
  },
)

server.case(
  'details.unknown',
  'an unknown question is not found',
  { source: gotrue('oauthserver/authorize.go', 210) },
  async (t) => {
    const user = await t.user()
    await t
      .get('oauth/authorizations/no-such-authorization', { as: user })
      .is(...refusal(404, 'oauth_authorization_not_found'))
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
    await t.get(path, { as: one }).is(200)
    await t.get(path, { as: other }).is(...refusal(404, 'oauth_authorization_not_found'))
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
    await t
      .post(`${path}/consent`, { action: 'deny' }, { as: user })
      .is(200, { redirect_url: /\/back\?(?=.*error=access_denied)(?=.*state=seven)/ })
  },
)

server.case(
  'consent.malformed',
  'an answer is yes or no',
  { source: gotrue('oauthserver/authorize.go', 322) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    const path = `oauth/authorizations/${await authorization(t, client)}`
    await t
      .post(`${path}/consent`, { action: 'perhaps' }, { as: user })
      .is(...refusal(400, 'validation_failed'))
  },
)

server.case(
  'consent.kept',
  'who has consented is not asked again',
  { source: openapi(2930) },
  async (t) => {
    const { client } = await registers(t)
    const user = await t.user()
    await consented(t, client, user)
    await t
      .get(`oauth/authorizations/${await authorization(t, client)}`, { as: user })
      .is(200, { redirect_url: /\/back\?(?=.*code=[^&]+)/ })
  },
)

server.case('token', 'the code is exchanged for tokens', { source: openapi(2792) }, async (t) => {
  const { response } = await signedIn(t)
  response.has(200, {
    ...{ access_token: some.token, token_type: 'bearer' },
    ...{ expires_in: some.number, refresh_token: some.string },
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
        ...{ client_id: client.client_id, sub: user.id, role: 'authenticated' },
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
    await token(t, { ...client, client_secret: 'x' }, grant(randomUUID())).is(
      ...refusal(400, 'invalid_credentials'),
    )
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

server.case(
  'token.public',
  'a public client needs no secret',
  { source: `${guide}/oauth-flows` },
  async (t) => {
    const { client } = await registers(t, { token_endpoint_auth_method: 'none' })
    const code = await consented(t, client, await t.user())
    const form = new URLSearchParams({ ...grant(code), client_id: client.client_id })
    await t
      .post('oauth/token', form, { as: 'nobody', headers: { apikey: t.target.anonKey } })
      .has(200, { access_token: some.token })
  },
)

server.case(
  'token.grant',
  'another grant is refused',
  { source: gotrue('oauthserver/handlers.go', 303) },
  async (t) => {
    const { client } = await registers(t)
    await token(t, client, { grant_type: 'password', username: 'x' }).is(
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
      ...{ grant_type: 'refresh_token', refresh_token: response.field('refresh_token') },
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
    await t.delete(`user/oauth/grants?client_id=${client.client_id}`, { as: user }).empty(204)
    await t.get('user/oauth/grants', { as: user }).is(200, [])
    await token(t, client, {
      ...{ grant_type: 'refresh_token', refresh_token: response.field('refresh_token') },
    }).is(400)
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
