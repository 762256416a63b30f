import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  claimsOf,
  freshEmail,
  freshPhone,
  gotrue,
  openapi,
  redirects,
  refusal,
  removesUser,
  removesUserAt,
  removesUserOf,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const guide = 'https://supabase.com/docs/guides/auth/auth-email-passwordless'

export const otp = group('auth.otp', {
  title: 'Codes and links by mail',
  source: guide,
})

const sending = { needs: ['service', 'mail'] } as const

type Body = (t: Context) => Record<string, unknown>
const invalid: [string, string, Body, number][] = [
  ['neither', 'a code needs an address or a number', () => ({}), 94],
  [
    'both',
    'a code goes to an address or a number, not both',
    (t) => ({ email: freshEmail(t), phone: freshPhone() }),
    39,
  ],
  ['channel', 'a mail has no channel', (t) => ({ email: freshEmail(t), channel: 'sms' }), 42],
]
for (const [name, promise, body, line] of invalid) {
  otp.case(name, promise, { source: gotrue('otp.go', line) }, (t) =>
    t.post('otp', body(t)).is(...refusal(400, 'validation_failed')),
  )
}

otp.case(
  'malformed',
  'a text that is no address gets no code',
  { source: gotrue('mail.go', 717) },
  (t) => t.post('otp', { email: 'nobody at example.com' }).is(...refusal(400, 'validation_failed')),
)

otp.case('unknown', 'without sign-up an unknown address is refused', async (t) => {
  const { error } = await t.anon.auth.signInWithOtp({
    email: freshEmail(t),
    options: { shouldCreateUser: false },
  })
  t.error(
    { error },
    partly({ status: 422, code: 'otp_disabled', message: 'Signups not allowed for otp' }),
  )
})

otp.case(
  'response',
  'the response tells nothing',
  { ...sending, source: openapi(576) },
  async (t) => {
    const { email } = await account(t)
    await t.post('otp', { email }).is(200, {})
  },
)

otp.case('sign-up', 'the code for an unknown address makes a user', sending, async (t) => {
  const email = freshEmail(t)
  removesUserAt(t, email)
  t.ok(await t.anon.auth.signInWithOtp({ email, options: { data: { nick: 'Ace' } } }))
  const code = await t.mails(email).code()
  const { data, error } = await t.anon.auth.verifyOtp({ email, token: code, type: 'email' })
  t.data(
    { data: data.user, error },
    partly({
      email,
      email_confirmed_at: some.time,
      user_metadata: partly({ nick: 'Ace', email_verified: true }),
    }),
  )
})

otp.case(
  'sign-in',
  'the code for a known address gives a session of its user',
  sending,
  async (t) => {
    const { id, email } = await account(t)
    t.ok(await t.anon.auth.signInWithOtp({ email, options: { shouldCreateUser: false } }))
    const code = await t.mails(email).code()
    const { data, error } = await t.anon.auth.verifyOtp({ email, token: code, type: 'email' })
    t.data({ data: data.session, error }, partly({ user: partly({ id }) }))
  },
)

otp.case('link', 'the link in the mail leads back with a session', sending, async (t) => {
  const { id, email } = await account(t)
  t.ok(await t.anon.auth.signInWithOtp({ email }))
  const mail = await t.mails(email).newest()
  const { fragment } = redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
    fragment: partly({ type: 'magiclink', token_type: 'bearer', access_token: some.token }),
  })
  t.equal(claimsOf(fragment.access_token ?? ''), partly({ sub: id }), null)
})

otp.case(
  'method',
  'a session by code says so in its token',
  { ...sending, source: 'https://supabase.com/docs/guides/auth/jwt-fields' },
  async (t) => {
    const { email } = await account(t)
    await t.post('otp', { email }).is(200)
    const code = await t.mails(email).code()
    const response = await t
      .post('verify', { type: 'magiclink', email, token: code })
      .has(200, { access_token: some.token })
    t.equal(
      claimsOf(response.field('access_token')),
      partly({ amr: [partly({ method: 'otp' })], aal: 'aal1' }),
      null,
    )
  },
)

otp.case(
  'newest',
  'only the newest code is good',
  { ...sending, source: `${guide}#with-otp` },
  async (t) => {
    const { email } = await account(t)
    await t.post('otp', { email }).is(200)
    const code = await t.mails(email).code()
    const second = await t.post('otp', { email })
    if (second.status === 429) {
      second.is(...refusal(429, 'over_email_send_rate_limit', /^For security purposes/))
      return
    }
    const next = await t.mails(email).code(2)
    await t
      .post('verify', { type: 'magiclink', email, token: code })
      .is(...refusal(403, 'otp_expired'))
    await t.post('verify', { type: 'magiclink', email, token: next }).is(200)
  },
)

export const magicLink = group('auth.magic-link', {
  title: 'The endpoint for links',
  source: openapi(534),
})

magicLink.case('none', 'a link needs an address', { source: gotrue('magic_link.go', 25) }, (t) =>
  t.post('magiclink', {}).is(...refusal(422, 'validation_failed')),
)

magicLink.case('sign-in', 'the link in the mail leads back with a session', sending, async (t) => {
  const { email } = await account(t)
  await t.post('magiclink', { email }).is(200, {})
  const mail = await t.mails(email).newest()
  redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
    fragment: partly({ access_token: some.token, refresh_token: some.string }),
  })
})

magicLink.case('sign-up', 'an unknown address becomes a user', sending, async (t) => {
  const email = freshEmail(t)
  removesUserAt(t, email)
  await t.post('magiclink', { email }).is(200, {})
  const code = await t.mails(email).code()
  await t
    .post('verify', { type: 'email', email, token: code })
    .has(200, { user: partly({ email, email_confirmed_at: some.time }) })
})

export const recovery = group('auth.recovery', {
  title: 'Forgotten passwords',
  source: 'https://supabase.com/docs/reference/javascript/auth-resetpasswordforemail',
})

recovery.case('unknown', 'nobody learns from a recovery who is registered', (t) =>
  t.post('recover', { email: freshEmail(t) }).is(200, {}),
)

for (const [name, body, line] of [
  ['none', {}, 18],
  ['malformed', { email: 'nobody at example.com' }, 18],
] as const) {
  recovery.case(
    name,
    `a recovery needs ${name === 'none' ? 'an address' : 'an address that is one'}`,
    { source: gotrue('recover.go', line) },
    (t) => t.post('recover', body).is(...refusal(400, 'validation_failed')),
  )
}

recovery.case('link', 'the link in the mail leads back with a session', sending, async (t) => {
  const { id, email } = await account(t)
  t.ok(await t.anon.auth.resetPasswordForEmail(email))
  const mail = await t.mails(email).newest()
  const { fragment } = redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
    fragment: partly({ type: 'recovery', access_token: some.token }),
  })
  t.equal(claimsOf(fragment.access_token ?? ''), partly({ sub: id }), null)
})

recovery.case('code', 'with the code the password is set anew', sending, async (t) => {
  const { id, email } = await account(t)
  // As to somebody who is not registered.
  await t.post('recover', { email }).is(200, {})
  const code = await t.mails(email).code()
  const response = await t.post('verify', { type: 'recovery', email, token: code }).is(200)
  const password = 'another Secret 42!'
  await t
    .put('user', { password }, { as: { token: response.field('access_token') } })
    .has(200, { id })
  await t.post('token?grant_type=password', { email, password }).is(200)
})

export const resend = group('auth.resend', {
  title: 'Sending again',
  source: 'https://supabase.com/docs/reference/javascript/auth-resend',
})

const unsendable: [string, string, Body, number][] = [
  ['type.none', 'the kind has to be told', (t) => ({ email: freshEmail(t) }), 34],
  [
    'type.unknown',
    'an unknown kind is refused',
    (t) => ({ type: 'magiclink', email: freshEmail(t) }),
    34,
  ],
  ['email.none', 'a sign-up is sent to an address', () => ({ type: 'signup' }), 38],
  ['phone.none', 'a code for a telephone is sent to a number', () => ({ type: 'sms' }), 41],
  [
    'both',
    'there is an address or a number, not both',
    (t) => ({ type: 'signup', email: freshEmail(t), phone: freshPhone() }),
    46,
  ],
]
for (const [name, promise, body, line] of unsendable) {
  resend.case(name, promise, { source: gotrue('resend.go', line) }, (t) =>
    t.post('resend', body(t)).is(...refusal(400, 'validation_failed')),
  )
}

for (const type of ['signup', 'email_change']) {
  resend.case(
    `unknown.${type.replace('_', '-')}`,
    `nobody learns who is registered from sending ${type === 'signup' ? 'a sign-up' : 'a change'} again`,
    { source: gotrue('resend.go', 71) },
    (t) => t.post('resend', { type, email: freshEmail(t) }).is(200, {}),
  )
}

resend.case(
  'confirmed',
  'to a confirmed user nothing is sent, and nothing is said',
  { needs: ['service'], source: gotrue('resend.go', 71) },
  async (t) => {
    const { email } = await account(t)
    await t.post('resend', { type: 'signup', email }).is(200, {})
  },
)

resend.case('signup', 'the mail of a sign-up comes again', sending, async (t) => {
  const { email } = await account(t, { email_confirm: false })
  const { error } = await t.anon.auth.resend({ type: 'signup', email })
  t.ok({ error })
  const code = await t.mails(email).code()
  await t
    .post('verify', { type: 'signup', email, token: code })
    .has(200, { user: partly({ email, email_confirmed_at: some.time }) })
})

export const invitation = group('auth.invitation', {
  title: 'Invitations',
  source: 'https://supabase.com/docs/reference/javascript/auth-admin-inviteuserbyemail',
  needs: ['service'],
})

invitation.case('mail', 'an invited user confirms by the link of the mail', sending, async (t) => {
  const email = freshEmail(t)
  const { data, error } = await t.service.auth.admin.inviteUserByEmail(email, {
    data: { nick: 'Ace' },
  })
  removesUser(t, data.user?.id)
  t.data(
    { data: data.user, error },
    partly({ email, invited_at: some.time, user_metadata: partly({ nick: 'Ace' }) }),
  )
  const mail = await t.mails(email).newest()
  const { fragment } = redirects(t, await t.get(mail.link, { as: 'nobody' }), 303, {
    fragment: partly({ type: 'invite', access_token: some.token }),
  })
  t.equal(claimsOf(fragment.access_token ?? ''), partly({ email }), null)
})

invitation.case(
  'repeated',
  'who has not accepted is invited again as the same user',
  { ...sending, source: gotrue('invite.go', 20) },
  async (t) => {
    const email = freshEmail(t)
    const first = await t.post('invite', { email }, { as: 'service' })
    removesUserOf(t, first)
    await t
      .post('invite', { email }, { as: 'service' })
      .has(200, { id: first.field('id'), email, invited_at: some.time })
  },
)

invitation.case(
  'confirmed',
  'a confirmed user is not invited',
  { source: gotrue('invite.go', 69) },
  async (t) => {
    const { email } = await account(t)
    await t.post('invite', { email }, { as: 'service' }).is(...refusal(422, 'email_exists'))
  },
)

invitation.case('user', 'users do not invite', { source: openapi(1308) }, async (t) => {
  const one = await t.user()
  await t.post('invite', { email: freshEmail(t) }, { as: one }).is(...refusal(403, 'not_admin'))
})
