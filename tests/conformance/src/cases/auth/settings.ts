import { group } from '../../case.ts'
import { gotrue, openapi } from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

export const settings = group('auth.settings', {
  title: 'What the service tells about itself',
  source: openapi(3072),
})

settings.case(
  'health',
  'the service names itself and its version',
  { source: openapi(3032) },
  (t) =>
    t.get('health').is(200, { version: some.string, name: 'GoTrue', description: some.string }),
)

settings.case('rules', 'everybody can read which ways to sign in are open', (t) =>
  t.get('settings').has(200, {
    external: some.object,
    disable_signup: some.boolean,
    mailer_autoconfirm: some.boolean,
    phone_autoconfirm: some.boolean,
    saml_enabled: some.boolean,
  }),
)

const providers =
  'anonymous_users apple azure bitbucket discord email facebook figma github gitlab google keycloak linkedin_oidc ' +
  'notion phone slack_oidc spotify twitch twitter workos zoom'

settings.case('providers', 'each provider is told with whether it is on', (t) =>
  t.get('settings').has(200, {
    external: partly(Object.fromEntries(providers.split(' ').map((name) => [name, some.boolean]))),
  }),
)

export const wellKnown = group('auth.well-known', {
  title: 'Well-known documents',
  source: 'https://supabase.com/docs/guides/auth/signing-keys',
})

wellKnown.case(
  'jwks',
  'the public keys of tokens are listed, to be cached for ten minutes',
  async (t) => {
    const response = await t.get('.well-known/jwks.json')
    t.present(response)
    response.is(200, { keys: some.array }).header('cache-control', 'public, max-age=600')
  },
)

wellKnown.case(
  'jwks.private',
  'no key in the list has a private or symmetric part',
  { source: gotrue('jwks.go', 15) },
  async (t) => {
    const response = await t.get('.well-known/jwks.json')
    t.present(response)
    response.is(200, { keys: some.array })
    const { keys } = response.json as { keys: Record<string, unknown>[] }
    const secret = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']
    const leaks = keys.flatMap((key) => Object.keys(key).filter((name) => secret.includes(name)))
    t.equal(leaks, [], null)
  },
)

wellKnown.case(
  'claims',
  'a stock client verifies a token by what the service publishes',
  { source: 'https://supabase.com/docs/reference/javascript/auth-getclaims', needs: ['service'] },
  async (t) => {
    const user = await t.user()
    const { data, error } = await user.client.auth.getClaims()
    t.ok({ error })
    t.equal(data?.claims, partly({ sub: user.id, email: user.email }), null)
  },
)

const oidc = 'https://supabase.com/docs/guides/auth/oauth-server/getting-started'

wellKnown.case(
  'openid',
  'clients of OpenID Connect find the endpoints and what they can do',
  { source: oidc },
  async (t) => {
    const response = await t.get('.well-known/openid-configuration')
    t.present(response)
    response.has(200, {
      issuer: some.string,
      authorization_endpoint: /\/oauth\/authorize$/,
      token_endpoint: /\/oauth\/token$/,
      userinfo_endpoint: /\/oauth\/userinfo$/,
      jwks_uri: /\/\.well-known\/jwks\.json$/,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      subject_types_supported: ['public'],
    })
  },
)

wellKnown.case(
  'openid.methods',
  'the document lists scopes, methods of clients and of code challenges',
  { source: gotrue('jwks.go', 66) },
  async (t) => {
    const response = await t.get('.well-known/openid-configuration')
    t.present(response)
    response.has(200, {
      scopes_supported: ['openid', 'profile', 'email', 'phone', 'offline_access'],
      response_modes_supported: ['query'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      code_challenge_methods_supported: ['S256', 'plain'],
    })
    response.header('cache-control', 'public, max-age=600')
  },
)

wellKnown.case(
  'oauth-server',
  'the document for OAuth 2.1 names the same endpoints',
  { source: oidc },
  async (t) => {
    const response = await t.get('.well-known/oauth-authorization-server')
    t.present(response)
    response.has(200, {
      issuer: some.string,
      authorization_endpoint: /\/oauth\/authorize$/,
      token_endpoint: /\/oauth\/token$/,
    })
  },
)
