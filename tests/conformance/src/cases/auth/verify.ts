import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  claimsOf,
  freshEmail,
  freshPassword,
  gotrue,
  link,
  openapi,
  otherCode,
  redirects,
  refusal,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const reference = 'https://supabase.com/docs/reference/javascript/auth-verifyotp'

export const verify = group('auth.verify', {
  title: 'Codes and hashes',
  source: reference,
  needs: ['service'],
})

/** Makes a link of a kind, for a new user or one who is there. */
async function linkOf(t: Context, type: string) {
  if (type === 'signup') return link(t, type, freshEmail(t), { password: freshPassword() })
  if (type === 'invite') return link(t, type, freshEmail(t))
  const { email } = await account(t)
  return link(t, type, email)
}

const kinds: [string, string, string][] = [
  ['signup', 'signup', 'a sign-up'],
  ['invite', 'invite', 'an invitation'],
  ['magiclink', 'magiclink', 'a link to sign in'],
  ['recovery', 'recovery', 'a recovery'],
  ['email.signup', 'signup', 'a sign-up, under the common name email,'],
  ['email.magiclink', 'magiclink', 'a link to sign in, under the common name email,'],
]
for (const [name, kind, what] of kinds) {
  const type = name.split('.')[0] as 'email'

  verify.case(`hash.${name}`, `the hash of ${what} gives a session`, async (t) => {
    const { id, hashed_token: token_hash } = await linkOf(t, kind)
    const { data, error } = await t.anon.auth.verifyOtp({ type, token_hash })
    t.data(
      { data: data.session, error },
      partly({
        access_token: some.token,
        refresh_token: some.string,
        user: partly({ id, email_confirmed_at: some.time }),
      }),
    )
  })

  verify.case(`code.${name}`, `the code of ${what} gives a session`, async (t) => {
    const created = (await linkOf(t, kind)) as Awaited<ReturnType<typeof linkOf>> & {
      email: string
    }
    const { data, error } = await t.anon.auth.verifyOtp({
      ...{ type, email: created.email, token: created.email_otp },
    })
    t.data({ data: data.session, error }, partly({ user: partly({ id: created.id }) }))
  })
}

verify.case(
  'confirmation',
  'a confirmed address is verified in the identity, too',
  { source: gotrue('verify.go', 313) },
  async (t) => {
    const { hashed_token: token_hash } = await linkOf(t, 'signup')
    await t.post('verify', { type: 'signup', token_hash }).has(200, {
      user: partly({
        email_confirmed_at: some.time,
        confirmed_at: some.time,
        user_metadata: partly({ email_verified: true }),
        identities: [partly({ identity_data: partly({ email_verified: true }) })],
      }),
    })
  },
)

const expired = 'Token has expired or is invalid'
const invalidLink = 'Email link is invalid or has expired'

verify.case('code.wrong', 'a wrong code is refused with otp_expired', async (t) => {
  const { email } = await account(t)
  const { email_otp } = await link(t, 'magiclink', email)
  const { error } = await t.anon.auth.verifyOtp({
    ...{ type: 'magiclink', email, token: otherCode(email_otp) },
  })
  t.error({ error }, partly({ status: 403, code: 'otp_expired', message: expired }))
})

verify.case(
  'code.unknown',
  'nobody learns from a code who is registered',
  { source: gotrue('verify.go', 721) },
  (t) =>
    t
      .post('verify', { type: 'magiclink', email: freshEmail(t), token: '123456' })
      .is(...refusal(403, 'otp_expired', expired)),
)

verify.case(
  'code.other',
  'a code of another kind is refused',
  { source: gotrue('verify.go', 699) },
  async (t) => {
    const { email } = await account(t)
    const { email_otp: token } = await link(t, 'magiclink', email)
    await t
      .post('verify', { type: 'signup', email, token })
      .is(...refusal(403, 'otp_expired', expired))
  },
)

verify.case('code.used', 'a code is good for one time', async (t) => {
  const { email } = await account(t)
  const { email_otp: token } = await link(t, 'magiclink', email)
  await t.post('verify', { type: 'magiclink', email, token }).is(200)
  await t
    .post('verify', { type: 'magiclink', email, token })
    .is(...refusal(403, 'otp_expired', expired))
})

verify.case('hash.wrong', 'an unknown hash is refused', { source: gotrue('verify.go', 664) }, (t) =>
  t
    .post('verify', { type: 'magiclink', token_hash: '0'.repeat(56) })
    .is(...refusal(403, 'otp_expired', invalidLink)),
)

verify.case(
  'hash.used',
  'a hash is good for one time',
  { source: gotrue('verify.go', 664) },
  async (t) => {
    const { hashed_token: token_hash } = await linkOf(t, 'recovery')
    await t.post('verify', { type: 'recovery', token_hash }).is(200)
    await t
      .post('verify', { type: 'recovery', token_hash })
      .is(...refusal(403, 'otp_expired', invalidLink))
  },
)

verify.case(
  'hash.replaced',
  'a newer link of the kind replaces the one before',
  { source: gotrue('mail.go', 158) },
  async (t) => {
    const { email } = await account(t)
    const first = await link(t, 'magiclink', email)
    const second = await link(t, 'magiclink', email)
    await t
      .post('verify', { type: 'magiclink', token_hash: first.hashed_token })
      .is(...refusal(403, 'otp_expired'))
    await t.post('verify', { type: 'magiclink', token_hash: second.hashed_token }).is(200)
  },
)

verify.case(
  'banned',
  'a banned user is not let in by a link',
  { source: gotrue('verify.go', 670) },
  async (t) => {
    const { email } = await account(t, { ban_duration: '1h' })
    const { hashed_token: token_hash } = await link(t, 'magiclink', email)
    await t.post('verify', { type: 'magiclink', token_hash }).is(...refusal(403, 'user_banned'))
  },
)

const bodies: [string, string, Record<string, unknown>, number][] = [
  ['type.none', 'the kind has to be told', { token_hash: 'x' }, 54],
  ['token.none', 'a code or a hash has to be told', { type: 'email' }, 65],
  [
    'token.both',
    'there is a code or a hash, not both',
    { type: 'email', token: '123456', token_hash: 'x', email: 'nobody@example.com' },
    65,
  ],
  ['address.none', 'a code needs its address', { type: 'email', token: '123456' }, 81],
  [
    'hash.address',
    'a hash needs no address',
    { type: 'email', token_hash: 'x', email: 'nobody@example.com' },
    85,
  ],
  [
    'address.both',
    'a code has an address or a number, not both',
    { type: 'email', token: '123456', email: 'nobody@example.com', phone: '99123456789' },
    81,
  ],
  [
    'hash.redirect',
    'a hash leads nowhere',
    { type: 'email', token_hash: 'x', redirect_to: 'https://app.example.com/' },
    84,
  ],
  ['type.unknown', 'an unknown kind is refused', { type: 'pigeon', token_hash: 'x' }, 659],
]
for (const [name, promise, body, line] of bodies) {
  verify.case(name, promise, { source: gotrue('verify.go', line) }, (t) =>
    t.post('verify', body).is(...refusal(400, 'validation_failed')),
  )
}

verify.case(
  'address.malformed',
  'a text that is no address is refused',
  { source: gotrue('verify.go', 77) },
  (t) =>
    t
      .post('verify', { type: 'email', email: 'nobody at example.com', token: '123456' })
      .is(...refusal(422, 'validation_failed')),
)

export const links = group('auth.link', {
  title: 'Links and where they lead',
  source: openapi(222),
  needs: ['service'],
})

const opens = (t: Context, path: string, headers: Record<string, string> = {}) =>
  t.get(path, { as: 'nobody', headers: { apikey: t.target.anonKey, ...headers } })

links.case(
  'session',
  'a link leads back with a session in the fragment',
  { source: 'https://supabase.com/docs/guides/auth/sessions/implicit-flow' },
  async (t) => {
    const { id, hashed_token } = await linkOf(t, 'magiclink')
    const response = await opens(t, `verify?type=magiclink&token=${hashed_token}`)
    const { fragment } = redirects(t, response, 303, {
      fragment: partly({
        access_token: some.token,
        refresh_token: some.string,
        expires_in: /^\d+$/,
        expires_at: /^\d+$/,
        token_type: 'bearer',
        type: 'magiclink',
        // By this, clients tell such redirects from those of others.
        sb: '',
      }),
    })
    t.equal(claimsOf(fragment.access_token ?? ''), partly({ sub: id }), null)
  },
)

links.case('action', 'the link that the service makes is the one to open', async (t) => {
  const { action_link } = await linkOf(t, 'recovery')
  redirects(t, await t.get(action_link, { as: 'nobody' }), 303, {
    fragment: partly({ access_token: some.token, type: 'recovery' }),
  })
})

for (const [name, promise] of [
  ['unknown', 'an unknown link leads back with the reason'],
  ['used', 'a link that was used leads back with the reason'],
] as const) {
  links.case(name, promise, { source: gotrue('verify.go', 483) }, async (t) => {
    const { hashed_token } = await linkOf(t, 'magiclink')
    const token = name === 'used' ? hashed_token : '0'.repeat(56)
    const path = `verify?type=magiclink&token=${token}`
    if (name === 'used') await opens(t, path)
    redirects(t, await opens(t, path), 303, {
      fragment: partly({
        error: 'access_denied',
        error_code: 'otp_expired',
        error_description: invalidLink,
      }),
    })
  })
}

links.case(
  'kind',
  'codes of telephones have no links',
  { source: gotrue('verify.go', 167) },
  async (t) => {
    const response = await opens(t, 'verify?type=sms&token=abc')
    redirects(t, response, 303, {
      fragment: partly({ error: 'invalid_request', error_code: 'validation_failed' }),
    })
  },
)

for (const [name, path] of [
  ['token.none', 'verify?type=magiclink'],
  ['type.none', 'verify?token=abc'],
] as const) {
  links.case(
    name,
    `a link without ${name === 'token.none' ? 'a token' : 'its kind'} leads nowhere`,
    { source: gotrue('verify.go', 51) },
    (t) => opens(t, path).is(...refusal(400, 'validation_failed')),
  )
}

export const redirect = group('auth.redirect', {
  title: 'Addresses that links may lead back to',
  source: 'https://supabase.com/docs/guides/auth/redirect-urls',
  needs: ['service'],
})

/** Returns the site's own address, which every server allows. */
async function siteOf(t: Context): Promise<string> {
  const { email } = await account(t)
  return (await link(t, 'magiclink', email)).redirect_to.replace(/\/$/, '')
}

const unknown = 'verify?type=magiclink&token=0'
const origin = (site: string) => site.replace(/^(\w+:\/\/[^/]+).*$/, '$1')

redirect.case('path', 'a page of the site is allowed', async (t) => {
  const to = `${origin(await siteOf(t))}/welcome`
  const response = await opens(t, `${unknown}&redirect_to=${encodeURIComponent(to)}`)
  redirects(t, response, 303, { to })
})

redirect.case(
  'query',
  'what the address asks stays in it',
  { source: gotrue('verify.go', 483) },
  async (t) => {
    const to = `${origin(await siteOf(t))}/welcome`
    const wanted = encodeURIComponent(`${to}?sb_flow_id=7&team=east`)
    redirects(t, await opens(t, `${unknown}&redirect_to=${wanted}`), 303, {
      to,
      query: partly({ sb_flow_id: '7', team: 'east' }),
    })
  },
)

redirect.case(
  'session.query',
  'what the address asks stays in it beside a session',
  { source: gotrue('verify.go', 120) },
  async (t) => {
    const to = `${origin(await siteOf(t))}/welcome`
    const { hashed_token } = await linkOf(t, 'magiclink')
    const wanted = encodeURIComponent(`${to}?team=east`)
    const path = `verify?type=magiclink&token=${hashed_token}&redirect_to=${wanted}`
    redirects(t, await opens(t, path), 303, {
      to,
      query: { team: 'east' },
      fragment: partly({ access_token: some.token }),
    })
  },
)

for (const [name, header] of [
  ['header', 'redirect_to'],
  ['referer', 'referer'],
] as const) {
  redirect.case(
    name,
    `the header ${header} says where to, if the query does not`,
    {
      source:
        'https://github.com/supabase/auth/blob/bc32168e13fdc928c98b449fc76bc3fdb9a293c5/internal/utilities/request.go',
    },
    async (t) => {
      const to = `${origin(await siteOf(t))}/from-a-header`
      redirects(t, await opens(t, unknown, { [header]: to }), 303, { to })
    },
  )
}

const foreign: [string, string, (site: URL) => string][] = [
  ['host', 'another host is not allowed', () => 'https://conformance.invalid/'],
  [
    'suffix',
    'the name of the site is not allowed in another',
    (site) => `${site.protocol}//${site.hostname}.conformance.invalid/`,
  ],
  [
    'user',
    'the name of the site is not allowed as a user',
    (site) => `${site.protocol}//${site.hostname}@conformance.invalid/`,
  ],
  ['scheme', 'another scheme is not allowed', () => 'javascript:alert(1)'],
  ['decimal', 'an IP address as one number is not allowed', () => 'https://3232235777/'],
  ['ip', 'an IP address of elsewhere is not allowed', () => 'https://192.0.2.7/'],
]
for (const [name, promise, of] of foreign) {
  redirect.case(`foreign.${name}`, promise, async (t) => {
    const site = await siteOf(t)
    const to = encodeURIComponent(of(new URL(site)))
    const response = await opens(t, `${unknown}&redirect_to=${to}`)
    redirects(t, response, 303, { to: site })
  })
}

redirect.case(
  'link',
  'only an address that is allowed is in a link',
  { source: gotrue('mail.go', 69) },
  async (t) => {
    const { email } = await account(t)
    const site = (await link(t, 'magiclink', email)).redirect_to
    const asks = (redirect_to: string) =>
      t.post('admin/generate_link', { type: 'magiclink', email, redirect_to }, { as: 'service' })
    for (const foreign of ['https://conformance.invalid/', 'javascript:alert(1)']) {
      await asks(foreign).has(200, { redirect_to: site })
    }
    const page = `${origin(site)}/welcome`
    await asks(page).has(200, { redirect_to: page })
  },
)
