import { createHash, randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import { idTokenOf, Provider, signInAt } from '../../support/provider.ts'
import { visitor } from '../clients.ts'
import {
  describeOwnServer,
  fragment,
  inbox,
  newUser,
  newAddress,
  ok,
  open,
  providerUrl,
  refusal,
  there,
  WELCOME,
} from './users.ts'

const provider = 'keycloak'
const options = { redirectTo: WELCOME }

/** Goes to the provider, signs in as the owner of `email`, and comes back as far as the page. */
async function through(url: string, email: string): Promise<URL> {
  const atProvider = await open(url)
  return open(await signInAt(atProvider.href, email))
}

describeOwnServer('signing in at a provider', () => {
  test('with PKCE it ends in a code, which brings the provider’s token', async () => {
    const email = newAddress()
    const client = visitor({ flowType: 'pkce' })
    const { url } = await ok(client.auth.signInWithOAuth({ provider, options }))
    const landing = await through(there(url), email)
    const code = there(landing.searchParams.get('code'))
    const { session } = await ok(client.auth.exchangeCodeForSession(code))
    expect(session.user).toMatchObject({
      email,
      app_metadata: { provider, providers: [provider] },
      user_metadata: { sub: Provider.subject(email), email_verified: true },
    })
    expect(session.provider_token).toEqual(expect.any(String))
  })

  test('without PKCE it ends in a session in the fragment', async () => {
    const { url } = await ok(visitor().auth.signInWithOAuth({ provider, options }))
    const landing = await through(there(url), newAddress())
    expect(landing.href.startsWith(`${WELCOME}#`)).toBe(true)
    expect(fragment(landing).get('provider_token')).toEqual(expect.any(String))
    expect(fragment(landing).get('refresh_token')).toEqual(expect.any(String))
  })

  test('a verified address leads to the account that has it', async () => {
    const { id, email } = await newUser()
    const { url } = await ok(visitor().auth.signInWithOAuth({ provider, options }))
    const tokens = fragment(await through(there(url), email))
    const { user } = await ok(visitor().auth.getUser(there(tokens.get('access_token'))))
    expect(user.id).toBe(id)
    expect(user.app_metadata.providers).toEqual(['email', provider])
  })

  test('an unverified one signs nobody in until it is confirmed', async () => {
    const email = `unverified-${randomUUID()}@club.example`
    const { url } = await ok(visitor().auth.signInWithOAuth({ provider, options }))
    const landing = await through(there(url), email)
    expect(landing.searchParams.get('error_code')).toBe('provider_email_needs_verification')
    expect((await inbox().newest(email)).subject).toBe('Confirm your email address')
  })

  test('a response that was used already opens nothing', async () => {
    const { url } = await ok(visitor().auth.signInWithOAuth({ provider, options }))
    const callback = await signInAt((await open(there(url))).href, newAddress())
    await open(callback)
    const second = await open(callback)
    expect(second.searchParams.get('error_code')).toBe('bad_oauth_state')
  })
})

describeOwnServer('ID tokens', () => {
  const hashed = (nonce: string) => createHash('sha256').update(nonce).digest('hex')

  test('one of the provider signs in', async () => {
    const email = newAddress()
    const token = await idTokenOf(providerUrl(), email, { nonce: hashed('once') })
    const client = visitor()
    const { user } = await ok(client.auth.signInWithIdToken({ provider, token, nonce: 'once' }))
    expect(user).toMatchObject({ email, app_metadata: { provider } })
    const other = visitor().auth.signInWithIdToken({ provider, token, nonce: 'twice' })
    expect((await refusal(other)).status).toBe(400)
  })

  test('one links the provider to an account', async () => {
    const { id, client } = await newUser()
    const token = await idTokenOf(providerUrl(), newAddress())
    await ok(client.auth.linkIdentity({ provider, token }))
    const { identities } = await ok(client.auth.getUserIdentities())
    expect(identities.map((identity) => [identity.user_id, identity.provider])).toEqual([
      [id, 'email'],
      [id, provider],
    ])
  })
})

describeOwnServer('identities', () => {
  test('one is linked at the provider, signs in, and is unlinked', async () => {
    const { id, client } = await newUser({ flowType: 'pkce' })
    const elsewhere = newAddress()
    const { url } = await ok(client.auth.linkIdentity({ provider, options }))
    const back = await open(await signInAt(there(url), elsewhere))
    await ok(client.auth.exchangeCodeForSession(there(back.searchParams.get('code'))))
    const { identities } = await ok(client.auth.getUserIdentities())
    const linked = there(identities.find((identity) => identity.provider === provider))
    expect(linked).toMatchObject({ user_id: id, id: Provider.subject(elsewhere) })

    const token = await idTokenOf(providerUrl(), elsewhere)
    const { user } = await ok(visitor().auth.signInWithIdToken({ provider, token }))
    expect(user.id).toBe(id)

    await ok(client.auth.unlinkIdentity(linked))
    const { identities: left } = await ok(client.auth.getUserIdentities())
    expect(left.map((identity) => identity.provider)).toEqual(['email'])
  })

  test('one that somebody else has stays theirs', async () => {
    const theirs = newAddress()
    const token = await idTokenOf(providerUrl(), theirs)
    await ok(visitor().auth.signInWithIdToken({ provider, token }))
    const { client } = await newUser()
    const { url } = await ok(client.auth.linkIdentity({ provider, options }))
    const back = await open(await signInAt(there(url), theirs))
    expect(back.searchParams.get('error_code')).toBe('identity_already_exists')
  })

  test('somebody anonymous becomes somebody by an identity', async () => {
    const client = visitor({ flowType: 'pkce' })
    const { user } = await ok(client.auth.signInAnonymously())
    const email = newAddress()
    const { url } = await ok(client.auth.linkIdentity({ provider, options }))
    const back = await open(await signInAt(there(url), email))
    const code = there(back.searchParams.get('code'))
    const { session } = await ok(client.auth.exchangeCodeForSession(code))
    expect(session.user).toMatchObject({ id: there(user).id, email, is_anonymous: false })
  })
})
