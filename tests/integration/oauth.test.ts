import { createHash, randomBytes, randomUUID } from 'node:crypto'

import { expect, inject, test } from 'vitest'

import { service, visitor } from './clients.ts'
import { lacks } from './features.ts'

const { url } = inject('access')
const callback = 'https://app.club.example/callback'

/** In hosted projects the OAuth server is off by default. */
const metadata = await fetch(`${url}/.well-known/oauth-authorization-server/auth/v1`)

async function signedIn() {
  const credentials = { email: `${randomUUID()}@club.example`, password: randomUUID() }
  const { error } = await service().auth.admin.createUser({ ...credentials, email_confirm: true })
  expect(error).toBeNull()
  const client = visitor()
  await client.auth.signInWithPassword(credentials)
  return client
}

async function registered() {
  const { data, error } = await service().auth.admin.oauth.createClient({
    client_name: 'Scoreboard',
    redirect_uris: [callback],
  })
  expect(error).toBeNull()
  if (data?.client_secret === undefined) throw new Error('no client was registered')
  return { id: data.client_id, secret: data.client_secret }
}

/** Redirects a user's browser here as an application does; returns the request and the verifier of the code. */
async function request(clientId: string) {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: callback,
    response_type: 'code',
    scope: 'openid email',
    state: 'kick-off',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const answer = await fetch(`${url}/auth/v1/oauth/authorize?${query.toString()}`, {
    redirect: 'manual',
  })
  expect(answer.status).toBe(302)
  const target = new URL(answer.headers.get('location') ?? '')
  return { id: target.searchParams.get('authorization_id') ?? '', verifier }
}

function redirected(data: object | null) {
  if (data === null || !('redirect_url' in data)) throw new Error(JSON.stringify(data))
  return new URL(String(data.redirect_url)).searchParams
}

test.skipIf(lacks('oauth-server'))('an application gets in when the user agrees', async () => {
  const [client, app] = [await signedIn(), await registered()]
  const { id, verifier } = await request(app.id)
  const { data: details } = await client.auth.oauth.getAuthorizationDetails(id)
  expect(details).toMatchObject({
    authorization_id: id,
    client: { id: app.id, name: 'Scoreboard' },
    scope: 'openid email',
  })
  const { data: consent } = await client.auth.oauth.approveAuthorization(id)
  const answer = redirected(consent)
  expect(answer.get('state')).toBe('kick-off')

  const { token_endpoint: endpoint } = (await metadata.clone().json()) as { token_endpoint: string }
  const tokens = await fetch(new URL(new URL(endpoint).pathname, url), {
    method: 'POST',
    headers: {
      Authorization: `Basic ${Buffer.from(`${app.id}:${app.secret}`).toString('base64')}`,
    },
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: answer.get('code') ?? '',
      redirect_uri: callback,
      code_verifier: verifier,
    }),
  })
  const { access_token: token, id_token: idToken } = (await tokens.json()) as Record<string, string>
  const { data: verified } = await client.auth.getClaims(token)
  expect(verified?.claims).toMatchObject({ client_id: app.id })
  expect(idToken).toMatch(/^ey/)

  const { data: grants } = await client.auth.oauth.listGrants()
  expect(grants).toMatchObject([{ client: { id: app.id }, scopes: ['openid', 'email'] }])
  const second = await request(app.id)
  const { data: known } = await client.auth.oauth.getAuthorizationDetails(second.id)
  expect(redirected(known).get('code')).toBeTruthy()
  expect((await client.auth.oauth.revokeGrant({ clientId: app.id })).error).toBeNull()
  expect((await client.auth.oauth.listGrants()).data).toEqual([])
})

test.skipIf(lacks('oauth-server'))(
  'an application learns that the user does not agree',
  async () => {
    const [client, app] = [await signedIn(), await registered()]
    const { id } = await request(app.id)
    await client.auth.oauth.getAuthorizationDetails(id)
    const { data } = await client.auth.oauth.denyAuthorization(id)
    expect(redirected(data).get('error')).toBe('access_denied')
    const { error } = await client.auth.oauth.getAuthorizationDetails('unknown')
    expect(error).toMatchObject({ status: 404, code: 'oauth_authorization_not_found' })
  },
)

test.skipIf(lacks('oauth-server'))('administrators keep the register of applications', async () => {
  const { oauth } = service().auth.admin
  const app = await registered()
  const { data: changed } = await oauth.updateClient(app.id, { client_name: 'Ticker' })
  expect(changed).toMatchObject({ client_name: 'Ticker', redirect_uris: [callback] })
  expect((await oauth.getClient(app.id)).data).not.toHaveProperty('client_secret')
  const { data: renewed } = await oauth.regenerateClientSecret(app.id)
  expect(renewed?.client_secret).not.toBe(app.secret)
  const { data: listed } = await oauth.listClients()
  expect(listed.clients.map((client) => client.client_id)).toContain(app.id)
  expect((await oauth.deleteClient(app.id)).error).toBeNull()
  expect((await oauth.getClient(app.id)).error).toMatchObject({ code: 'oauth_client_not_found' })
})
