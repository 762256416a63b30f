import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  freshEmail,
  freshPassword,
  freshPhone,
  gotrue,
  link,
  openapi,
  refusal,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

export const user = group('auth.user', {
  title: 'The signed-in user',
  source: 'https://supabase.com/docs/guides/auth/users',
  needs: ['service'],
})

const update = 'https://supabase.com/docs/reference/javascript/auth-updateuser'

user.case('get', 'a token gives its user', async (t) => {
  const one = await t.user({ user_metadata: { nick: 'Ace' } })
  const { data, error } = await one.client.auth.getUser()
  t.data({ data: data.user, error }, partly({ id: one.id, user_metadata: partly({ nick: 'Ace' }) }))
})

user.case('get.no-token', 'nobody is no user', (t) =>
  t.get('user', { as: 'nobody', headers: { apikey: t.target.anonKey } }).is(401),
)

user.case(
  'get.whole',
  'a user is told with its times, data and identities',
  { source: openapi(3199) },
  async (t) => {
    const { id, email, token } = await t.user()
    await t.get('user', { as: { token } }).is(200, {
      id,
      aud: 'authenticated',
      role: 'authenticated',
      email,
      email_confirmed_at: some.time,
      phone: '',
      confirmed_at: some.time,
      last_sign_in_at: some.time,
      app_metadata: partly({ provider: 'email', providers: ['email'] }),
      user_metadata: some.object,
      identities: [partly({ provider: 'email' })],
      created_at: some.time,
      updated_at: some.time,
      is_anonymous: false,
    })
  },
)

user.case('data', 'new data are added to those that are there', { source: update }, async (t) => {
  const one = await t.user({ user_metadata: { nick: 'Ace', team: 'east' } })
  const { data, error } = await one.client.auth.updateUser({ data: { team: 'west', shirt: 7 } })
  t.data({ data: data.user?.user_metadata, error }, partly({ nick: 'Ace', team: 'west', shirt: 7 }))
})

user.case(
  'data.null',
  'data that are set to null are gone',
  { source: gotrue('../models/user.go', 230) },
  async (t) => {
    const one = await t.user({ user_metadata: { nick: 'Ace', team: 'east' } })
    await t
      .put('user', { data: { nick: null } }, { as: one })
      .has(200, { user_metadata: partly({ nick: undefined, team: 'east' }) })
  },
)

user.case(
  'data.nested',
  'an object among the data is replaced as a whole',
  { source: update },
  async (t) => {
    const one = await t.user({ user_metadata: { shirt: { number: 7, size: 'L' } } })
    await t
      .put('user', { data: { shirt: { number: 8 } } }, { as: one })
      .has(200, { user_metadata: partly({ shirt: { number: 8 } }) })
  },
)

user.case(
  'app-metadata',
  'users do not change the data of the application',
  { source: gotrue('user.go', 100) },
  async (t) => {
    const one = await t.user()
    await t
      .put('user', { app_metadata: { team: 'east' } }, { as: one })
      .is(...refusal(403, 'not_admin'))
  },
)

user.case(
  'protected',
  'users do not give themselves a role, an id or a confirmation',
  { source: openapi(649) },
  async (t) => {
    const one = await t.user()
    const wanted = { role: 'service_role', id: 'x', aud: 'elsewhere', is_super_admin: true }
    await t
      .put('user', { ...wanted, data: {} }, { as: one })
      .has(200, { id: one.id, role: 'authenticated', aud: 'authenticated' })
  },
)

user.case(
  'email.taken',
  'the address of another user is refused with email_exists',
  { source: gotrue('user.go', 138) },
  async (t) => {
    const { email } = await account(t)
    const one = await t.user()
    const { error } = await one.client.auth.updateUser({ email })
    t.error({ error }, partly({ status: 422, code: 'email_exists' }))
  },
)

user.case(
  'phone.taken',
  'the number of another user is refused with phone_exists',
  { source: gotrue('user.go', 146) },
  async (t) => {
    const phone = freshPhone()
    await account(t, { phone, phone_confirm: true })
    const one = await t.user()
    await t.put('user', { phone }, { as: one }).is(...refusal(422, 'phone_exists'))
  },
)

const malformed: [string, string, Record<string, unknown>, number][] = [
  ['email', 'a text that is no address is refused', { email: 'nobody at example.com' }, 36],
  ['phone', 'a number that is none is refused', { phone: 'call me' }, 43],
  ['channel', 'a channel that is none is refused', { phone: '99123456789', channel: 'pigeon' }, 49],
]
for (const [name, promise, body, line] of malformed) {
  user.case(`${name}.malformed`, promise, { source: gotrue('user.go', line) }, async (t) => {
    const one = await t.user()
    await t.put('user', body, { as: one }).is(...refusal(400, 'validation_failed'))
  })
}

user.case(
  'email.same',
  'the own address is no change',
  { source: gotrue('user.go', 251) },
  async (t) => {
    const one = await t.user()
    await t
      .put('user', { email: one.email }, { as: one })
      .has(200, { email: one.email, new_email: undefined })
  },
)

export const emailChange = group('auth.email-change', {
  title: 'Another address',
  source: 'https://supabase.com/docs/guides/auth/general-configuration',
  needs: ['service'],
})

emailChange.case(
  'pending',
  'before the confirmation the old address stays, and the new one is told beside it',
  { needs: ['service', 'mail'], source: update },
  async (t) => {
    const one = await t.user()
    const email = freshEmail(t)
    const { data, error } = await one.client.auth.updateUser({ email })
    t.data(
      { data: data.user, error },
      partly({ email: one.email, new_email: email, email_change_sent_at: some.time }),
    )
  },
)

/**
 * Returns the tokens that confirm the change of an address: from the link for the new one, and from the link for the
 * current one. Of what the service tells about a link, `hashed_token` is not always the token that it accepts.
 */
async function tokens(t: Context, email: string, new_email: string) {
  const current = await t.service.auth.admin.generateLink({
    type: 'email_change_current',
    email,
    newEmail: new_email,
  })
  if (current.error) t.absent('the new address alone confirms')
  const fresh = await link(t, 'email_change_new', email, { new_email })
  return {
    current: tokenOf(current.data.properties.action_link),
    fresh: tokenOf(fresh.action_link),
  }
}

const tokenOf = (url: string) => new URL(url).searchParams.get('token') ?? ''

const confirms = (t: Context, token_hash: string) =>
  t.post('verify', { type: 'email_change', token_hash })

for (const first of ['current', 'fresh'] as const) {
  emailChange.case(
    `both.${first === 'current' ? 'current' : 'new'}-first`,
    `after the ${first === 'current' ? 'current' : 'new'} address confirmed, the other one has to`,
    { source: gotrue('verify.go', 545) },
    async (t) => {
      const one = await t.user()
      const email = freshEmail(t)
      const created = await tokens(t, one.email, email)
      await confirms(t, created[first]).is(200, { msg: some.string, code: '200' })
      await t.get('user', { as: one }).has(200, { email: one.email, new_email: email })
      const second = first === 'current' ? created.fresh : created.current
      await confirms(t, second).has(200, { user: partly({ id: one.id, email }) })
    },
  )
}

emailChange.case(
  'identity',
  'the identity of the address follows, and the old address does not sign in any more',
  { source: gotrue('verify.go', 545) },
  async (t) => {
    const one = await t.user()
    const email = freshEmail(t)
    const created = await tokens(t, one.email, email)
    await confirms(t, created.current).is(200)
    await confirms(t, created.fresh).has(200, {
      user: partly({
        identities: [partly({ provider: 'email', identity_data: partly({ email }) })],
      }),
    })
    const grant = (address: string) =>
      t.post('token?grant_type=password', { email: address, password: one.password })
    await grant(email).has(200, { user: partly({ id: one.id }) })
    await grant(one.email).is(...refusal(400, 'invalid_credentials'))
  },
)

emailChange.case(
  'mail',
  'the code in the mail to the new address confirms it',
  { needs: ['service', 'mail'], source: update },
  async (t) => {
    const one = await t.user()
    const email = freshEmail(t)
    await t.put('user', { email }, { as: one }).is(200)
    const code = await t.mails(email).code()
    const response = await t.post('verify', { type: 'email_change', email, token: code }).is(200)
    if ((response.json as { user?: unknown }).user === undefined) {
      // Both addresses have to confirm.
      const old = await t.mails(one.email).code()
      await t
        .post('verify', { type: 'email_change', email: one.email, token: old })
        .has(200, { user: partly({ id: one.id, email }) })
    } else {
      response.has(200, { user: partly({ id: one.id, email }) })
    }
  },
)

export const reauthentication = group('auth.reauthentication', {
  title: 'Asking again who somebody is',
  source: 'https://supabase.com/docs/reference/javascript/auth-reauthentication',
  needs: ['service'],
})

reauthentication.case('anonymous-role', 'nobody is asked again without a token', (t) =>
  t
    .get('reauthenticate', { as: 'nobody', headers: { apikey: t.target.anonKey } })
    .is(...refusal(401, 'no_authorization')),
)

reauthentication.case(
  'nonce',
  'a mail brings a code with which the password is changed',
  { needs: ['service', 'mail'] },
  async (t) => {
    const one = await t.user()
    t.ok(await one.client.auth.reauthenticate())
    const code = await t.mails(one.email).code()
    const password = freshPassword()
    const { data, error } = await one.client.auth.updateUser({ password, nonce: code })
    t.data({ data: data.user, error }, partly({ id: one.id }))
    await t.post('token?grant_type=password', { email: one.email, password }).is(200)
  },
)
