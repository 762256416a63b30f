import { group } from '../../case.ts'
import {
  account,
  freshEmail,
  freshPassword,
  freshPhone,
  gotrue,
  link,
  openapi,
  refusal,
  signIn,
} from '../../gotrue.ts'
import { anything, partly, some } from '../../match.ts'

export const password = group('auth.password', {
  title: 'E-mail and password',
  source: 'https://supabase.com/docs/guides/auth/passwords',
  needs: ['service'],
})

const grant = 'token?grant_type=password'
const codes = 'https://supabase.com/docs/guides/auth/debugging/error-codes'

password.case('sign-in', 'a password gives a session of its user', async (t) => {
  const { id, email, password: secret } = await t.user()
  const { data, error } = await t.anon.auth.signInWithPassword({ email, password: secret })
  t.data(
    { data: data.session, error },
    partly({ access_token: some.token, token_type: 'bearer', user: partly({ id, email }) }),
  )
})

password.case(
  'sign-in.session',
  'a session has both tokens, their times and the user',
  { source: openapi(3326) },
  async (t) => {
    const { id, email, password: secret } = await account(t)
    await t.post(grant, { email, password: secret }).is(200, {
      access_token: some.token,
      token_type: 'bearer',
      expires_in: some.number,
      expires_at: some.number,
      refresh_token: some.string,
      user: partly({ id, email, last_sign_in_at: some.time }),
      // What is weak about the password; upstream writes null where nothing is.
      weak_password: anything,
    })
  },
)

password.case(
  'sign-in.case',
  'an address may be written in any case',
  { source: gotrue('mail.go', 709) },
  async (t) => {
    const { id, email, password: secret } = await account(t)
    await t
      .post(grant, { email: email.toUpperCase(), password: secret })
      .has(200, { user: partly({ id }) })
  },
)

password.case(
  'sign-in.phone',
  'a number with its password gives a session',
  { source: 'https://supabase.com/docs/guides/auth/passwords#with-phone' },
  async (t) => {
    const phone = freshPhone()
    const { id, password: secret } = await account(t, { phone, phone_confirm: true })
    const response = await t.post(grant, { phone: `+${phone}`, password: secret })
    if (response.field('error_code') === 'phone_provider_disabled') t.absent('phones are off')
    response.has(200, { user: partly({ id, phone }) })
  },
)

password.case(
  'sign-in.wrong',
  'a wrong password is refused with invalid_credentials',
  async (t) => {
    const { email } = await t.user()
    const { error } = await t.anon.auth.signInWithPassword({ email, password: 'not the password' })
    t.error({ error }, partly({ status: 400, code: 'invalid_credentials' }))
  },
)

const invalid = 'Invalid login credentials'

password.case(
  'sign-in.unknown',
  'an unknown address is refused just as a wrong password is',
  { source: gotrue('token.go', 111) },
  (t) =>
    t
      .post(grant, { email: freshEmail(t), password: 'not the password' })
      .is(...refusal(400, 'invalid_credentials', invalid)),
)

password.case(
  'sign-in.wrong.text',
  'the text of the refusal is the one that clients know',
  { source: gotrue('token.go', 178) },
  async (t) => {
    const { email } = await account(t)
    await t
      .post(grant, { email, password: 'not the password' })
      .is(...refusal(400, 'invalid_credentials', invalid))
  },
)

password.case(
  'sign-in.both',
  'a sign-in has an address or a number, not both',
  { source: gotrue('token.go', 83) },
  (t) =>
    t
      .post(grant, { email: freshEmail(t), phone: freshPhone(), password: 'x' })
      .is(...refusal(400, 'validation_failed')),
)

password.case(
  'sign-in.neither',
  'a sign-in needs an address or a number',
  { source: gotrue('token.go', 106) },
  (t) => t.post(grant, { password: 'x' }).is(...refusal(400, 'validation_failed')),
)

password.case(
  'sign-in.unconfirmed',
  'before the confirmation of the address nobody signs in',
  { source: codes },
  async (t) => {
    const { email, password: secret } = await account(t, { email_confirm: false })
    const { error } = await t.anon.auth.signInWithPassword({ email, password: secret })
    t.error(
      { error },
      partly({ status: 400, code: 'email_not_confirmed', message: 'Email not confirmed' }),
    )
  },
)

password.case(
  'sign-in.unconfirmed.wrong',
  'only the right password tells that an address is not confirmed',
  { source: gotrue('token.go', 178) },
  async (t) => {
    const { email } = await account(t, { email_confirm: false })
    await t
      .post(grant, { email, password: 'not the password' })
      .is(...refusal(400, 'invalid_credentials'))
  },
)

password.case(
  'sign-in.unconfirmed.phone',
  'before the confirmation of the number nobody signs in with it',
  { source: codes },
  async (t) => {
    const phone = freshPhone()
    const { password: secret } = await account(t, { phone, phone_confirm: false })
    const response = await t.post(grant, { phone, password: secret })
    if (response.field('error_code') === 'phone_provider_disabled') t.absent('phones are off')
    response.is(...refusal(400, 'phone_not_confirmed'))
  },
)

for (const [name, promise] of [
  ['right', 'a banned user does not sign in'],
  ['wrong', 'a ban is told whatever the password'],
] as const) {
  password.case(
    `sign-in.banned.${name}`,
    promise,
    { source: gotrue('token.go', 121) },
    async (t) => {
      const { email, password: secret } = await account(t, { ban_duration: '1h' })
      await t
        .post(grant, { email, password: name === 'right' ? secret : 'not the password' })
        .is(...refusal(400, 'user_banned'))
    },
  )
}

for (const [name, query] of [
  ['none', ''],
  ['unknown', '?grant_type=trust'],
] as const) {
  password.case(
    `grant.${name}`,
    `a token is not issued for ${name === 'none' ? 'no kind' : 'an unknown kind'} of grant`,
    { source: gotrue('token.go', 60) },
    (t) =>
      t
        .post(`token${query}`, { email: 'nobody@example.com', password: 'x' })
        .is(...refusal(400, 'invalid_credentials', 'unsupported_grant_type')),
  )
}

password.case('change', 'a new password replaces the old one', async (t) => {
  const user = await t.user()
  t.ok(await user.client.auth.updateUser({ password: 'another Secret 42' }))
  const asks = (password: string) => t.post(grant, { email: user.email, password })
  await asks('another Secret 42').has(200, {
    access_token: some.token,
    user: partly({ id: user.id }),
  })
  await asks(user.password).is(400)
})

password.case(
  'change.same',
  'a new password has to be another one',
  { source: codes },
  async (t) => {
    const user = await t.user()
    const { error } = await user.client.auth.updateUser({ password: user.password })
    t.error({ error }, partly({ status: 422, code: 'same_password' }))
  },
)

for (const [name, weak] of [
  ['short', 'aA1!'],
  ['empty', ''],
] as const) {
  password.case(
    `change.${name}`,
    `a new password that is ${name === 'short' ? 'too short' : 'empty'} is weak`,
    { source: 'https://supabase.com/docs/guides/auth/password-security' },
    async (t) => {
      const user = await t.user()
      await t.put('user', { password: weak }, { as: user }).has(422, {
        error_code: 'weak_password',
        weak_password: partly({ reasons: some.array }),
      })
    },
  )
}

password.case(
  'change.long',
  'a new password of more than 72 bytes is refused',
  { source: gotrue('password.go', 32) },
  async (t) => {
    const user = await t.user()
    await t
      .put('user', { password: 'aA1!'.repeat(19) }, { as: user })
      .is(...refusal(400, 'validation_failed'))
  },
)

password.case(
  'change.sessions',
  'a new password ends all other sessions, and the own goes on',
  { source: 'https://supabase.com/docs/guides/auth/sessions' },
  async (t) => {
    const user = await t.user()
    const other = await signIn(t, user)
    await t.put('user', { password: freshPassword() }, { as: user }).has(200, { id: user.id })
    await t
      .get('user', { as: { token: other.access_token } })
      .is(...refusal(403, 'session_not_found'))
    await t.get('user', { as: user }).has(200, { id: user.id })
  },
)

password.case(
  'change.links',
  'a new password makes links that were sent before worthless',
  { source: gotrue('../models/user.go', 453) },
  async (t) => {
    const user = await t.user()
    const { hashed_token: token_hash } = await link(t, 'recovery', user.email)
    await t.put('user', { password: freshPassword() }, { as: user }).has(200, { id: user.id })
    await t.post('verify', { type: 'recovery', token_hash }).is(...refusal(403, 'otp_expired'))
  },
)
