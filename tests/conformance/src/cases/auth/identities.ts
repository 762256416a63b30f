import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import { freshPhone, gotrue, openapi, providerThatIsOn, refusal } from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

export const identities = group('auth.identities', {
  title: 'Identities of a user',
  source: 'https://supabase.com/docs/guides/auth/auth-identity-linking',
  needs: ['service'],
})

identities.case(
  'list',
  'a user has an identity for each way to sign in',
  { source: 'https://supabase.com/docs/guides/auth/identities' },
  async (t) => {
    const one = await t.user()
    const { data, error } = await one.client.auth.getUserIdentities()
    t.data(
      { data: data?.identities[0], error },
      partly({
        identity_id: some.uuid,
        id: one.id,
        user_id: one.id,
        provider: 'email',
        identity_data: partly({ email: one.email, sub: one.id }),
        created_at: some.time,
        updated_at: some.time,
      }),
    )
  },
)

/** Makes a user with an address and a number, and the identities of both. */
async function twofold(t: Context) {
  const phone = freshPhone()
  const one = await t.user({ phone, phone_confirm: true })
  const response = await t.get('user', { as: one })
  const { identities: own } = response.json as {
    identities: { identity_id: string; provider: string }[]
  }
  const of = (provider: string) => own.find((it) => it.provider === provider)?.identity_id ?? ''
  return { one, phone, of }
}

/** Ends the case where users do not link identities themselves. */
async function linksByHand(t: Context, as: { token: string }): Promise<void> {
  const response = await t.get('user/identities/authorize?provider=no-such-provider', { as })
  if (response.field('error_code') === 'manual_linking_disabled') t.absent('manual linking is off')
}

identities.case('unlink', 'an identity of several is removed', async (t) => {
  const { one, of } = await twofold(t)
  await linksByHand(t, one)
  await t.delete(`user/identities/${of('phone')}`, { as: one }).is(200, {})
  await t.get('user', { as: one }).has(200, {
    ...{ phone: '', phone_confirmed_at: undefined },
    identities: [partly({ provider: 'email' })],
    app_metadata: partly({ provider: 'email', providers: ['email'] }),
  })
})

identities.case('unlink.last', 'the last identity stays', async (t) => {
  const one = await t.user()
  await linksByHand(t, one)
  const { data } = await one.client.auth.getUserIdentities()
  const [only] = data?.identities ?? []
  if (!only) throw new Error('the user has no identity')
  const { error } = await one.client.auth.unlinkIdentity(only)
  t.error({ error }, partly({ status: 422, code: 'single_identity_not_deletable' }))
})

identities.case(
  'unlink.unknown',
  'an identity of somebody else cannot be removed',
  { source: gotrue('identity.go', 52) },
  async (t) => {
    const { one } = await twofold(t)
    await linksByHand(t, one)
    const other = await twofold(t)
    await t
      .delete(`user/identities/${other.of('phone')}`, { as: one })
      .is(...refusal(422, 'identity_not_found'))
  },
)

identities.case(
  'unlink.malformed',
  'an identity is named by a UUID',
  { source: gotrue('identity.go', 30) },
  async (t) => {
    const one = await t.user()
    await linksByHand(t, one)
    await t.delete('user/identities/seven', { as: one }).is(...refusal(404, 'validation_failed'))
  },
)

identities.case('link', 'a stock client is led to the provider that is to be linked', async (t) => {
  const one = await t.user()
  await linksByHand(t, one)
  const provider = await providerThatIsOn(t)
  const { data, error } = await one.client.auth.linkIdentity({
    provider: provider as 'github',
    options: { skipBrowserRedirect: true },
  })
  t.data({ data, error }, partly({ url: /^https?:\/\/.*[?&]state=.+/ }))
})

identities.case(
  'link.redirect',
  'without a page of its own the response is a redirect to the provider',
  { source: openapi(694) },
  async (t) => {
    const one = await t.user()
    await linksByHand(t, one)
    const provider = await providerThatIsOn(t)
    await t
      .get(`user/identities/authorize?provider=${provider}`, { as: one })
      .is(302)
      .header('location', /^https?:\/\/.*[?&]state=.+/)
  },
)

identities.case(
  'link.unknown',
  'an unknown provider is refused',
  { source: openapi(694) },
  async (t) => {
    const one = await t.user()
    await linksByHand(t, one)
    await t
      .get('user/identities/authorize?provider=no-such-provider', { as: one })
      .is(...refusal(400, 'validation_failed'))
  },
)

identities.case(
  'unlink.sign-in',
  'an unlinked way to sign in is no way any more',
  { source: 'https://supabase.com/docs/guides/auth/auth-identity-linking#unlink-an-identity' },
  async (t) => {
    const { one, phone, of } = await twofold(t)
    await linksByHand(t, one)
    await t.delete(`user/identities/${of('phone')}`, { as: one }).is(200)
    const response = await t.post('token?grant_type=password', { phone, password: one.password })
    if (response.field('error_code') === 'phone_provider_disabled') t.absent('phones are off')
    response.is(...refusal(400, 'invalid_credentials'))
  },
)
