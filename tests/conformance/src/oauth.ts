/** What cases of the OAuth server share: its clients, and how one of them signs in a user. */
import type { Context, User } from './context.ts'
import { pkce, target } from './gotrue.ts'

/** Where clients are led back to; nobody is there. */
export const redirect_uri = 'https://app.conformance.invalid/back'

const service = { as: 'service' } as const

/** Asks whether the service is a server of OAuth. */
export const probe = async (t: Context) => t.present(await t.get('admin/oauth/clients', service))

/** A registered client with its secret. */
export interface Client {
  client_id: string
  client_secret: string
}

/** Registers a client, and removes it after the case. */
export async function registers(t: Context, more: Record<string, unknown> = {}) {
  const client_name = t.unique('client')
  const body = { client_name, redirect_uris: [redirect_uri], ...more }
  const response = await t.post('admin/oauth/clients', body, service)
  if (response.status === 201) {
    t.after(() => t.discard(`/auth/v1/admin/oauth/clients/${response.field('client_id')}`))
  }
  return { client_name, response, client: response.json as Client }
}

const { verifier, challenge } = pkce()
const proof = { code_challenge: challenge, code_challenge_method: 's256' }

/** Asks as a client for a code. */
export function asks(t: Context, more: Record<string, string | undefined>) {
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
export async function authorization(t: Context, client: Client, scope = 'email') {
  const response = await asks(t, { client_id: client.client_id, scope })
  const { query } = target(response.headerValue('location'))
  if (query.error === 'server_error') t.absent('there is no page for consent')
  return query.authorization_id ?? ''
}

/** Has a user consent, and returns the code for the client. */
export async function consented(t: Context, client: Client, user: User, scope?: string) {
  const path = `oauth/authorizations/${await authorization(t, client, scope)}`
  await t.get(path, { as: user }).is(200)
  const response = await t.post(`${path}/consent`, { action: 'approve' }, { as: user }).is(200)
  return target(response.field('redirect_url')).query.code ?? ''
}

const basic = ({ client_id, client_secret }: Client) => ({
  authorization: `Basic ${Buffer.from(`${client_id}:${client_secret}`).toString('base64')}`,
})

/** Asks the token endpoint as a client with its secret. */
export const token = (t: Context, client: Client, body: Record<string, string>) =>
  t.post('oauth/token', new URLSearchParams(body), {
    ...{ as: 'nobody', headers: { apikey: t.target.anonKey, ...basic(client) } },
  })

/** Returns the request that exchanges a code. */
export const grant = (code: string, more: Record<string, string> = {}) => ({
  ...{ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier, ...more },
})

/** Does a whole sign-in, and returns it: client, user, and the response with the tokens. */
export async function signedIn(t: Context, scope?: string) {
  const { client } = await registers(t)
  const user = await t.user()
  const code = await consented(t, client, user, scope)
  return { client, user, code, response: await token(t, client, grant(code)) }
}
