import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  freshEmail,
  freshPassword,
  freshPhone,
  gotrue,
  openapi,
  pkce,
  refusal,
  removesUser,
  removesUserOf,
  userOf,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

export const signup = group('auth.signup', {
  title: 'Signing up',
  source: 'https://supabase.com/docs/reference/javascript/auth-signup',
})

/** Signs up at a server that may send a mail for it. */
async function signsUp(t: Context, body: Record<string, unknown>) {
  const response = await t.post('signup', body)
  removesUserOf(t, response)
  return response
}

/** Returns whether sign-ups are confirmed by themselves: the response is a session then. */
async function confirmsItself(t: Context): Promise<boolean> {
  const { json } = await t.get('settings')
  return (json as { mailer_autoconfirm?: boolean }).mailer_autoconfirm === true
}

const sending = { needs: ['service', 'mail'] } as const

signup.case(
  'email',
  'a new address gives a user; and a session at once where addresses need no confirmation',
  sending,
  async (t) => {
    const email = freshEmail(t)
    const confirmed = await confirmsItself(t)
    const { data, error } = await t.anon.auth.signUp({ email, password: freshPassword() })
    removesUser(t, data.user?.id)
    t.data({ data: data.user, error }, partly({ id: some.uuid, email, aud: some.string }))
    t.equal(data.session !== null, confirmed, null)
  },
)

signup.case(
  'email.unconfirmed',
  'a new user is at the top of the response and has one identity, of the address',
  { ...sending, source: openapi(357) },
  async (t) => {
    if (await confirmsItself(t)) t.absent('addresses need no confirmation')
    const email = freshEmail(t)
    const response = await signsUp(t, { email, password: freshPassword() })
    const { id } = userOf(response)
    response.has(200, {
      id: some.uuid,
      email,
      phone: '',
      role: some.string,
      confirmation_sent_at: some.time,
      email_confirmed_at: undefined,
      is_anonymous: false,
      identities: [
        partly({
          id,
          user_id: id,
          provider: 'email',
          identity_data: partly({ sub: id, email, email_verified: false }),
        }),
      ],
    })
  },
)

signup.case(
  'email.lower-case',
  'an address is kept in lower case',
  { ...sending, source: gotrue('mail.go', 709) },
  async (t) => {
    const email = freshEmail(t)
    const response = await signsUp(t, { email: email.toUpperCase(), password: freshPassword() })
    response.is(200)
    t.equal(userOf(response).email, email)
  },
)

signup.case('data', 'what is told about a new user is kept as its metadata', sending, async (t) => {
  const data = { nick: 'Ace', shirt: { number: 7 } }
  const response = await signsUp(t, { email: freshEmail(t), password: freshPassword(), data })
  t.equal(userOf(response).user_metadata, partly(data))
  response.is(200)
})

signup.case(
  'data.protected',
  'metadata cannot say that an address is another one, or verified',
  { ...sending, source: gotrue('signup.go', 209) },
  async (t) => {
    const email = freshEmail(t)
    const data = { sub: 'someone', email: 'other@example.com', phone_verified: true }
    const response = await signsUp(t, { email, password: freshPassword(), data })
    response.is(200)
    const { id, user_metadata } = userOf(response)
    t.equal(user_metadata, partly({ sub: id, email, phone_verified: false }))
  },
)

signup.case(
  'provider',
  'the way somebody signed up is among the data of the application',
  { ...sending, source: gotrue('signup.go', 99) },
  async (t) => {
    const response = await signsUp(t, { email: freshEmail(t), password: freshPassword() })
    response.is(200)
    t.equal(userOf(response).app_metadata, partly({ provider: 'email', providers: ['email'] }))
  },
)

signup.case(
  'confirmation',
  'the code of the mail confirms the address and gives a session',
  {
    ...sending,
    source: 'https://supabase.com/docs/guides/auth/passwords#signing-up-with-an-email-and-password',
  },
  async (t) => {
    if (await confirmsItself(t)) t.absent('addresses need no confirmation')
    const email = freshEmail(t)
    const response = await signsUp(t, { email, password: freshPassword() })
    const code = await t.mails(email).code()
    const { data, error } = await t.anon.auth.verifyOtp({ email, token: code, type: 'email' })
    t.data(
      { data: data.user, error },
      partly({ id: userOf(response).id, email_confirmed_at: some.time }),
    )
  },
)

signup.case(
  'repeated.unconfirmed',
  'who signs up again before the confirmation is the same user, and the first password stays',
  { ...sending, source: gotrue('signup.go', 197) },
  async (t) => {
    if (await confirmsItself(t)) t.absent('addresses need no confirmation')
    const email = freshEmail(t)
    const password = freshPassword()
    const first = await signsUp(t, { email, password })
    const second = await t.post('signup', { email, password: freshPassword() })
    // Mails to one address may be limited to one a minute.
    if (second.status !== 429) second.has(200, { id: userOf(first).id })
    await t.prepare('PUT', `/auth/v1/admin/users/${String(userOf(first).id)}`, {
      email_confirm: true,
    })
    await t.post('token?grant_type=password', { email, password }).is(200)
  },
)

signup.case(
  'repeated.confirmed',
  'nobody learns from a sign-up who is registered: a made-up user, or a refusal without confirmations',
  { needs: ['service'] },
  async (t) => {
    const { id, email } = await account(t)
    const { json } = await t.get('settings')
    const { mailer_autoconfirm, phone_autoconfirm } = json as Record<string, boolean>
    const response = await t.post('signup', { email, password: freshPassword() })
    if (mailer_autoconfirm || phone_autoconfirm) {
      response.is(...refusal(422, 'user_already_exists', 'User already registered'))
      return
    }
    response.has(200, {
      id: some.uuid,
      email,
      role: '',
      identities: [],
      confirmation_sent_at: some.time,
      email_confirmed_at: undefined,
    })
    t.equal(userOf(response).id === id, false, null)
  },
)

type Body = (t: Context) => Record<string, unknown>
const invalid: [string, string, Body, number][] = [
  ['password.none', 'a sign-up needs a password', (t) => ({ email: freshEmail(t) }), 36],
  [
    'address.both',
    'a sign-up has an address or a number, not both',
    (t) => ({ email: freshEmail(t), phone: freshPhone(), password: freshPassword() }),
    43,
  ],
  [
    'pkce.phone',
    'a number is not confirmed by PKCE',
    () => ({
      phone: freshPhone(),
      password: freshPassword(),
      code_challenge: pkce().challenge,
      code_challenge_method: 's256',
    }),
    50,
  ],
  [
    'channel',
    'a channel that is none is refused',
    () => ({ phone: freshPhone(), password: freshPassword(), channel: 'pigeon' }),
    46,
  ],
]
for (const [name, promise, body, line] of invalid) {
  signup.case(name, promise, { source: gotrue('signup.go', line) }, (t) =>
    t.post('signup', body(t)).is(...refusal(400, 'validation_failed')),
  )
}

const addresses: [string, string, string, number][] = [
  ['malformed', 'a text that is no address is refused', 'nobody at example.com', 717],
  [
    'long',
    'an address of more than 255 characters is refused',
    `${'a'.repeat(250)}@example.com`,
    714,
  ],
]
for (const [name, promise, email, line] of addresses) {
  signup.case(`address.${name}`, promise, { source: gotrue('mail.go', line) }, (t) =>
    t.post('signup', { email, password: freshPassword() }).is(...refusal(400, 'validation_failed')),
  )
}

signup.case(
  'password.long',
  'a password of more than 72 bytes is refused',
  { source: gotrue('password.go', 32) },
  (t) =>
    t
      .post('signup', { email: freshEmail(t), password: 'aA1!'.repeat(19) })
      .is(...refusal(400, 'validation_failed')),
)

const strength = 'https://supabase.com/docs/guides/auth/password-security'

signup.case(
  'password.weak',
  'a password that is too short is refused with its reason',
  { source: strength },
  (t) =>
    t.post('signup', { email: freshEmail(t), password: 'aA1!' }).has(422, {
      code: 422,
      error_code: 'weak_password',
      msg: some.string,
      weak_password: partly({ reasons: some.array }),
    }),
)

signup.case(
  'password.weak.client',
  'a stock client tells the reasons of a weak password',
  { source: strength },
  async (t) => {
    const { error } = await t.anon.auth.signUp({ email: freshEmail(t), password: 'aA1!' })
    t.error(
      { error },
      partly({ name: 'AuthWeakPasswordError', code: 'weak_password', status: 422 }),
    )
    t.equal((error as { reasons?: string[] } | null)?.reasons?.includes('length'), true)
  },
)

signup.case(
  'phone.malformed',
  'a number that is none is refused',
  { source: gotrue('phone.go', 27) },
  async (t) => {
    const { json } = await t.get('settings')
    const { external } = json as { external: Record<string, boolean> }
    if (!external.phone) t.absent('sign-up by phone is off')
    await t
      .post('signup', { phone: 'call me', password: freshPassword() })
      .is(...refusal(400, 'validation_failed'))
  },
)

signup.case(
  'phone.repeated',
  'nobody learns from a sign-up whose number is registered',
  { needs: ['service'], source: gotrue('signup.go', 293) },
  async (t) => {
    const { json } = await t.get('settings')
    const rules = json as Record<string, boolean> & { external: Record<string, boolean> }
    if (!rules.external.phone) t.absent('sign-up by phone is off')
    const phone = freshPhone()
    await account(t, { phone, phone_confirm: true })
    const response = await t.post('signup', { phone, password: freshPassword() })
    if (rules.mailer_autoconfirm || rules.phone_autoconfirm) {
      response.is(...refusal(422, 'user_already_exists', 'User already registered'))
    } else {
      response.has(200, { id: some.uuid, phone, email: '', role: '', identities: [] })
    }
  },
)

export const anonymous = group('auth.anonymous', {
  title: 'Anonymous users',
  source: 'https://supabase.com/docs/guides/auth/auth-anonymous',
  needs: ['service'],
  probe: async (t) => {
    const response = await t.post('signup', {})
    if (response.field('error_code') === 'anonymous_provider_disabled') {
      t.absent('anonymous sign-ins are off')
    }
    removesUserOf(t, response)
  },
})

/** Makes an anonymous user with a session. */
async function stranger(t: Context, data: Record<string, unknown> = {}) {
  const response = await t.post('signup', { data })
  const { id } = userOf(response)
  removesUser(t, id)
  return { id: String(id), token: response.field('access_token'), response }
}

anonymous.case('sign-in', 'nobody in particular gets a session of an anonymous user', async (t) => {
  const { data, error } = await t.anon.auth.signInAnonymously()
  removesUser(t, data.user?.id)
  t.data(
    { data: data.session, error },
    partly({
      access_token: some.token,
      token_type: 'bearer',
      user: partly({ id: some.uuid, is_anonymous: true, email: '', app_metadata: {} }),
    }),
  )
})

anonymous.case('data', 'what an anonymous user tells is kept as metadata', async (t) => {
  const { data, error } = await t.anon.auth.signInAnonymously({
    options: { data: { nick: 'Visitor' } },
  })
  removesUser(t, data.user?.id)
  t.data({ data: data.user, error }, partly({ user_metadata: partly({ nick: 'Visitor' }) }))
})

anonymous.case(
  'role',
  'an anonymous user has the role of signed-in users, and no identity',
  async (t) => {
    const { response } = await stranger(t)
    response.has(200, { user: partly({ role: 'authenticated', identities: [] }) })
  },
)

anonymous.case(
  'password',
  'an anonymous user has no password before an address',
  { source: gotrue('user.go', 115) },
  async (t) => {
    const user = await stranger(t)
    await t
      .put('user', { password: freshPassword() }, { as: user })
      .is(...refusal(422, 'validation_failed'))
  },
)

anonymous.case(
  'email.taken',
  'an anonymous user cannot take the address of another user',
  async (t) => {
    const { email } = await account(t)
    const user = await stranger(t)
    await t.put('user', { email }, { as: user }).is(...refusal(422, 'email_exists'))
  },
)

anonymous.case(
  'factor',
  'an anonymous user has no second factor',
  { source: gotrue('auth.go', 44) },
  async (t) => {
    const user = await stranger(t)
    await t
      .post('factors', { factor_type: 'totp' }, { as: user })
      .is(...refusal(403, 'no_authorization'))
  },
)

anonymous.case(
  'reauthentication',
  'who has neither an address nor a number cannot be asked again',
  { source: gotrue('reauthenticate.go', 26) },
  async (t) => {
    const user = await stranger(t)
    await t.get('reauthenticate', { as: user }).is(...refusal(400, 'validation_failed'))
  },
)

anonymous.case(
  'upgrade',
  'an anonymous user who confirms an address stays the same user, for good',
  { needs: ['service', 'mail'] },
  async (t) => {
    const { id, token } = await stranger(t)
    const email = freshEmail(t)
    await t.put('user', { email }, { as: { token } }).is(200)
    const { json } = await t.get('settings')
    if (!(json as Record<string, boolean>).mailer_autoconfirm) {
      const code = await t.mails(email).code()
      await t.post('verify', { type: 'email_change', email, token: code }).is(200)
    }
    await t.get('user', { as: { token } }).has(200, { id, email, is_anonymous: false })
  },
)

anonymous.case(
  'upgrade.password',
  'the former anonymous user can sign in with a password of its own',
  async (t) => {
    const { id, token } = await stranger(t)
    const email = freshEmail(t)
    await t.prepare('PUT', `/auth/v1/admin/users/${id}`, { email, email_confirm: true })
    const password = freshPassword()
    await t.put('user', { password }, { as: { token } }).has(200, { id, is_anonymous: false })
    await t
      .post('token?grant_type=password', { email, password })
      .has(200, { user: partly({ id, is_anonymous: false }) })
  },
)
