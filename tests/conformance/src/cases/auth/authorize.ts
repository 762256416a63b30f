import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  freshEmail,
  gotrue,
  link,
  openapi,
  pkce,
  providerThatIsOn,
  redirects,
  refusal,
  target,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

export const authorize = group('auth.authorize', {
  title: 'Signing in at a provider',
  source: openapi(310),
})

/** Asks to be led to a provider that is on. */
async function leads(t: Context, query = '') {
  const provider = await providerThatIsOn(t)
  return t.get(`authorize?provider=${provider}${query}`, {
    ...{ as: 'nobody', headers: { apikey: t.target.anonKey } },
  })
}

authorize.case('redirect', 'a provider that is on is asked for a code', async (t) => {
  redirects(t, await leads(t), 302, {
    query: partly({
      client_id: some.string,
      redirect_uri: /\/callback$/,
      response_type: 'code',
      scope: some.string,
      state: some.string,
    }),
  })
})

authorize.case(
  'client',
  'a stock client names the page that leads to the provider',
  { source: 'https://supabase.com/docs/reference/javascript/auth-signinwithoauth' },
  async (t) => {
    const provider = await providerThatIsOn(t)
    const { data } = await t.anon.auth.signInWithOAuth({
      provider: provider as 'github',
      options: { skipBrowserRedirect: true },
    })
    await t
      .get(data.url ?? '', { as: 'nobody' })
      .is(302)
      .header('location', /[?&]client_id=/)
  },
)

authorize.case(
  'scopes',
  'further scopes are asked for beside those that are needed',
  { source: 'https://supabase.com/docs/reference/javascript/auth-signinwithoauth' },
  async (t) => {
    redirects(t, await leads(t, '&scopes=conformance-one,conformance-two'), 302, {
      query: partly({ scope: /conformance-one.*conformance-two/ }),
    })
  },
)

authorize.case(
  'parameters',
  'what the query asks beside is asked of the provider',
  { source: 'https://supabase.com/docs/reference/javascript/auth-signinwithoauth' },
  async (t) => {
    redirects(t, await leads(t, '&prompt=consent&login_hint=ace'), 302, {
      query: partly({ prompt: 'consent', login_hint: 'ace' }),
    })
  },
)

authorize.case(
  'parameters.reserved',
  'the query does not say for whom the code is',
  { source: gotrue('external.go', 37) },
  async (t) => {
    const evil = '&client_id=evil&redirect_uri=https://conformance.invalid&state=evil'
    const { query } = redirects(t, await leads(t, evil), 302, {
      query: partly({ redirect_uri: /\/callback$/ }),
    })
    t.equal([query.client_id, query.state].includes('evil'), false, null)
  },
)

const refusals: [string, string, string, number][] = [
  ['unknown', 'an unknown provider is refused', '?provider=no-such-provider', 50],
  ['none', 'a provider has to be told', '', 50],
]
for (const [name, promise, query, line] of refusals) {
  authorize.case(name, promise, { source: gotrue('external.go', line) }, (t) =>
    t.get(`authorize${query}`).is(...refusal(400, 'validation_failed', /^Unsupported provider/)),
  )
}

authorize.case(
  'off',
  'a provider that is off is refused',
  { source: gotrue('external.go', 50) },
  async (t) => {
    const { json } = await t.get('settings')
    const { external } = json as { external: Record<string, boolean> }
    const others = ['email', 'phone', 'anonymous_users']
    const [name] = Object.entries(external).find(([one, on]) => !on && !others.includes(one)) ?? []
    if (name === undefined) t.absent('all providers are on')
    await t
      .get(`authorize?provider=${String(name)}`)
      .is(...refusal(400, 'validation_failed', /^Unsupported provider/))
  },
)

const methods: [string, string, string, number][] = [
  ['method.none', 'a challenge needs a method', `&code_challenge=${pkce().challenge}`, 127],
  [
    'method.unknown',
    'an unknown method of challenges is refused',
    `&code_challenge=${pkce().challenge}&code_challenge_method=rot13`,
    127,
  ],
]
for (const [name, promise, query, line] of methods) {
  authorize.case(name, promise, { source: gotrue('external.go', line) }, async (t) => {
    const response = await leads(t, query)
    response.is(...refusal(400, 'validation_failed'))
  })
}

authorize.case(
  'invitation.unknown',
  'an unknown invitation is refused',
  { source: gotrue('external.go', 58) },
  async (t) => {
    const response = await leads(t, '&invite_token=no-such-token')
    response.is(...refusal(404, 'user_not_found'))
  },
)

export const callback = group('auth.callback', {
  title: 'Coming back from a provider',
  source: openapi(1147),
})

const back = (t: Context, query: string) => t.get(`callback${query}`, { as: 'nobody' })

const states: [string, string, string, string, number][] = [
  ['state.none', 'who comes back without a state is refused', '', 'bad_oauth_callback', 543],
  ['state.malformed', 'a state that is none is refused', '?state=seven', 'bad_oauth_state', 548],
  [
    'state.unknown',
    'an unknown state is refused',
    `?state=${randomUUID()}&code=x`,
    'bad_oauth_state',
    560,
  ],
]
for (const [name, promise, query, code, line] of states) {
  callback.case(name, promise, { source: gotrue('external.go', line) }, async (t) => {
    redirects(t, await back(t, query), 303, {
      query: partly({ error: 'invalid_request', error_code: code, error_description: some.string }),
    })
  })
}

/** Returns the state with which a provider would lead back, to a page of the site. */
async function stateOf(t: Context, query = '') {
  const { redirect_to: site } = await link(t, 'magiclink', freshEmail(t))
  const to = `${new URL(site).origin}/signed-in`
  const response = await leads(t, `&redirect_to=${encodeURIComponent(`${to}?team=east`)}${query}`)
  response.is(302)
  return { to, state: target(response.headerValue('location')).query.state ?? '' }
}

callback.case(
  'error',
  "a provider's refusal comes to the page, in the query and in the fragment",
  { needs: ['service'], source: gotrue('external_oauth.go', 72) },
  async (t) => {
    const { to, state } = await stateOf(t)
    const reason = { error: 'access_denied', error_description: 'The user said no' }
    const parameters = new URLSearchParams({ state, ...reason }).toString()
    redirects(t, await back(t, `?${parameters}`), 302, {
      to,
      query: partly({ ...reason, team: 'east' }),
      fragment: partly(reason),
    })
  },
)

callback.case(
  'code.none',
  'who comes back without a code is refused, at the page',
  { needs: ['service'], source: gotrue('external_oauth.go', 77) },
  async (t) => {
    const { to, state } = await stateOf(t)
    redirects(t, await back(t, `?state=${state}`), 302, {
      to,
      query: partly({ error: 'invalid_request', error_code: 'bad_oauth_callback' }),
    })
  },
)

callback.case(
  'form',
  'a provider may come back by a form',
  { needs: ['service'], source: openapi(1158) },
  async (t) => {
    const { to, state } = await stateOf(t)
    const form = new URLSearchParams({ state, error: 'access_denied' })
    const response = await t.post('callback', form, { as: 'nobody' })
    redirects(t, response, 302, { to, query: partly({ error: 'access_denied' }) })
  },
)

export const idToken = group('auth.id-token', {
  title: 'Tokens of other issuers',
  source: 'https://supabase.com/docs/reference/javascript/auth-signinwithidtoken',
})

const grants: [string, string, Record<string, unknown>, number][] = [
  ['token.none', 'a token has to be told', { provider: 'google' }, 214],
  ['provider.none', 'a provider has to be told, or a client and an issuer', { id_token: 'x' }, 218],
]
for (const [name, promise, body, line] of grants) {
  idToken.case(name, promise, { source: gotrue('token_oidc.go', line) }, (t) =>
    t
      .post('token?grant_type=id_token', body, {
        ...{ as: 'nobody', headers: { apikey: t.target.anonKey } },
      })
      .is(400, { error: 'invalid request', error_description: some.string }),
  )
}

idToken.case(
  'link.nobody',
  'to link an identity, somebody has to be signed in',
  { source: gotrue('auth.go', 127) },
  (t) =>
    t
      .post('token?grant_type=id_token', { id_token: 'x', provider: 'google', link_identity: true })
      .is(...refusal(403, 'bad_jwt')),
)

idToken.case(
  'provider.unknown',
  'an issuer that is not allowed is refused',
  { source: gotrue('token_oidc.go', 175) },
  (t) =>
    t
      .post('token?grant_type=id_token', { id_token: 'x', provider: 'no-such-provider' })
      .is(...refusal(400, 'validation_failed')),
)
