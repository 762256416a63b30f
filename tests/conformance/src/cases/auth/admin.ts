import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  freshEmail,
  freshPassword,
  freshPhone,
  gotrue,
  openapi,
  refusal,
  removesUser,
  removesUserOf,
  signIn,
  userOf,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const reference = 'https://supabase.com/docs/reference/javascript'
const service = { as: 'service' } as const

export const create = group('auth.admin-create', {
  title: 'Administrators make users',
  source: `${reference}/auth-admin-createuser`,
  needs: ['service'],
})

create.case('user', 'a user has what an administrator says', async (t) => {
  const email = freshEmail(t)
  const { data, error } = await t.service.auth.admin.createUser({
    ...{ email, password: freshPassword(), email_confirm: true },
    ...{ user_metadata: { nick: 'Ace' }, app_metadata: { team: 'east' } },
  })
  removesUser(t, data.user?.id)
  t.data(
    { data: data.user, error },
    partly({
      ...{ id: some.uuid, email, email_confirmed_at: some.time, role: 'authenticated' },
      user_metadata: partly({ nick: 'Ace', email_verified: true }),
      app_metadata: partly({ team: 'east', provider: 'email', providers: ['email'] }),
      identities: [partly({ provider: 'email', identity_data: partly({ email }) })],
    }),
  )
})

/** Makes a user by a raw request, and removes it after the case. */
async function makes(t: Context, body: Record<string, unknown>) {
  const response = await t.post('admin/users', body, service)
  if (response.status < 300) removesUserOf(t, response)
  return response
}

create.case('unconfirmed', 'without a word an address is not confirmed', async (t) => {
  const response = await makes(t, { email: freshEmail(t) })
  response.has(200, { email_confirmed_at: undefined, confirmed_at: undefined })
})

create.case('phone', 'a user may have a number alone', async (t) => {
  const phone = freshPhone()
  const response = await makes(t, { phone: `+${phone}`, phone_confirm: true })
  response.has(200, {
    ...{ phone, email: '', phone_confirmed_at: some.time },
    identities: [partly({ provider: 'phone' })],
    app_metadata: partly({ provider: 'phone', providers: ['phone'] }),
  })
})

create.case('id', 'an administrator may choose the id', async (t) => {
  const id = randomUUID()
  const response = await makes(t, { id, email: freshEmail(t) })
  response.has(200, { id })
})

create.case('ban', 'a user may be banned from the beginning', async (t) => {
  const response = await makes(t, { email: freshEmail(t), ban_duration: '24h' })
  response.has(200, { banned_until: some.time })
  const { banned_until, created_at } = response.json as Record<string, string>
  const hours = (Date.parse(banned_until ?? '') - Date.parse(created_at ?? '')) / 3_600_000
  t.equal(Math.round(hours), 24, null)
})

create.case('role', 'a user may have another role', async (t) => {
  const response = await makes(t, { email: freshEmail(t), role: ' conformance_referee ' })
  response.has(200, { role: 'conformance_referee' })
})

create.case(
  'audience',
  'a user may have another audience',
  { source: gotrue('admin.go', 400) },
  async (t) => {
    const response = await makes(t, { email: freshEmail(t), aud: 'conformance' })
    response.has(200, { aud: 'conformance' })
  },
)

create.case(
  'hash',
  'a password may come as its hash from elsewhere',
  { source: 'https://supabase.com/docs/guides/platform/migrating-to-supabase/auth0' },
  async (t) => {
    const email = freshEmail(t)
    const password_hash = '$2a$06$TE960DtNnyXP2E8aaQ0JPe3xdjM1fnZaxmCX7j/jIj.0MYlO3G/BC'
    const created = await makes(t, { email, password_hash, email_confirm: true })
    created.is(200)
    await t
      .post('token?grant_type=password', { email, password: 'conformance Secret 42' })
      .has(200, { user: partly({ email }) })
  },
)

create.case(
  'weak',
  'what makes a password strong is not asked of administrators who make a user',
  { source: gotrue('admin.go', 388) },
  async (t) => {
    const email = freshEmail(t)
    const created = await makes(t, { email, password: 'a', email_confirm: true })
    created.has(200, { email })
  },
)

type Body = (t: Context) => Record<string, unknown>
const refusals: [string, string, Body, number][] = [
  ['address.none', 'a user has an address or a number', () => ({ password: 'a Secret 42!' }), 405],
  [
    'password.both',
    'there is a password or its hash, not both',
    (t) => ({ email: freshEmail(t), password: 'a Secret 42!', password_hash: 'x' }),
    436,
  ],
  [
    'password.long',
    'a password has 72 bytes at most',
    (t) => ({ email: freshEmail(t), password: 'x'.repeat(73) }),
    456,
  ],
  ['id.malformed', 'an id is a UUID', (t) => ({ email: freshEmail(t), id: 'seven' }), 464],
  [
    'id.nil',
    'an id is not nothing',
    (t) => ({ email: freshEmail(t), id: '00000000-0000-0000-0000-000000000000' }),
    467,
  ],
  [
    'ban.malformed',
    'a ban has a duration',
    (t) => ({ email: freshEmail(t), ban_duration: 'for ever' }),
    485,
  ],
  ['email.malformed', 'an address is one', () => ({ email: 'nobody at example.com' }), 388],
  ['phone.malformed', 'a number is one', () => ({ phone: 'call me' }), 388],
]
for (const [name, promise, body, line] of refusals) {
  create.case(name, promise, { source: gotrue('admin.go', line) }, async (t) => {
    const response = await makes(t, body(t))
    response.is(...refusal(400, 'validation_failed'))
  })
}

create.case(
  'email.taken',
  'an address has one user',
  { source: gotrue('admin.go', 417) },
  async (t) => {
    const { email } = await account(t)
    const response = await makes(t, { email: email.toUpperCase() })
    response.is(...refusal(422, 'email_exists'))
  },
)

create.case(
  'phone.taken',
  'a number has one user',
  { source: gotrue('admin.go', 430) },
  async (t) => {
    const phone = freshPhone()
    await account(t, { phone })
    const response = await makes(t, { phone })
    response.is(...refusal(422, 'phone_exists'))
  },
)

export const get = group('auth.admin-get', {
  title: 'Administrators look at users',
  source: `${reference}/auth-admin-getuserbyid`,
  needs: ['service'],
})

get.case('user', 'a user is found by the id', async (t) => {
  const { id, email } = await account(t)
  const { data, error } = await t.service.auth.admin.getUserById(id)
  t.data({ data: data.user, error }, partly({ id, email, identities: some.array }))
})

get.case('unknown', 'an unknown user is not found', async (t) => {
  const { error } = await t.service.auth.admin.getUserById(randomUUID())
  t.error({ error }, partly({ status: 404, code: 'user_not_found' }))
})

get.case('malformed', 'a user is named by a UUID', { source: gotrue('admin.go', 58) }, (t) =>
  t.get('admin/users/seven', service).is(...refusal(404, 'validation_failed')),
)

export const list = group('auth.admin-list', {
  title: 'Administrators list users',
  source: `${reference}/auth-admin-listusers`,
  needs: ['service'],
})

/** Makes three users with a name of their own, from the oldest to the newest. */
async function three(t: Context) {
  const name = t.unique('name')
  const users = []
  for (let count = 0; count < 3; count += 1) {
    const body = { email: freshEmail(t), user_metadata: { full_name: name } }
    const created = await t.prepare('POST', '/auth/v1/admin/users', body)
    removesUser(t, created.id)
    users.push({ id: String(created.id), email: body.email })
  }
  return { name, users, ids: users.map(({ id }) => id) }
}

list.case('client', 'a stock client lists users by pages', async (t) => {
  await account(t)
  const { data, error } = await t.service.auth.admin.listUsers({ page: 1, perPage: 1 })
  t.data({ data, error }, partly({ users: [partly({ id: some.uuid })], aud: 'authenticated' }))
})

list.case(
  'filter.name',
  'users are found by a part of their name',
  { source: gotrue('admin.go', 118) },
  async (t) => {
    const { name, ids } = await three(t)
    const response = await t.get(`admin/users?filter=${name.toUpperCase()}`, service)
    response.has(200, {
      users: ids.toReversed().map((id) => partly({ id })),
      aud: 'authenticated',
    })
  },
)

list.case(
  'filter.email',
  'users are found by a part of their address',
  { source: gotrue('admin.go', 118) },
  async (t) => {
    const { id, email } = await account(t)
    await t
      .get(`admin/users?filter=${encodeURIComponent(email.slice(3))}`, service)
      .has(200, { users: [partly({ id, email, identities: null, factors: undefined })] })
  },
)

list.case(
  'order',
  'users are in the order that is asked for',
  { source: gotrue('sorting.go', 11) },
  async (t) => {
    const { name, ids } = await three(t)
    await t
      .get(`admin/users?filter=${name}&sort=${encodeURIComponent('created_at asc')}`, service)
      .has(200, { users: ids.map((id) => partly({ id })) })
  },
)

list.case(
  'page',
  'a page has as many users as are asked for, and the next ones follow',
  async (t) => {
    const { name, ids } = await three(t)
    const [oldest, middle, newest] = ids
    const path = `admin/users?filter=${name}&per_page=2`
    await t.get(`${path}&page=1`, service).has(200, {
      users: [partly({ id: newest }), partly({ id: middle })],
    })
    await t.get(`${path}&page=2`, service).has(200, { users: [partly({ id: oldest })] })
    await t.get(`${path}&page=9`, service).has(200, { users: [] }).header('x-total-count', '3')
  },
)

list.case(
  'count',
  'a header counts all users that were found',
  { source: gotrue('pagination.go', 34) },
  async (t) => {
    const { name } = await three(t)
    await t.get(`admin/users?filter=${name}&per_page=2`, service).header('x-total-count', '3')
  },
)

list.case(
  'links',
  'a header links to the next page and to the last one',
  { source: gotrue('pagination.go', 34) },
  async (t) => {
    const { name } = await three(t)
    const path = `admin/users?filter=${name}&per_page=1`
    await t
      .get(`${path}&page=1`, service)
      .header('link', /[?&]page=2[&>].*rel="next".*[?&]page=3[&>].*rel="last"/)
    const last = await t.get(`${path}&page=3`, service)
    last.header('link', /^[^,]*[?&]page=3[&>][^,]*rel="last"$/)
  },
)

for (const [name, query] of [
  ['page', 'page=first'],
  ['size', 'per_page=all'],
  ['order', 'sort=password'],
  ['direction', `sort=${encodeURIComponent('created_at sideways')}`],
] as const) {
  list.case(
    `malformed.${name}`,
    `a ${name} that is none is refused`,
    { source: gotrue('admin.go', name === 'page' || name === 'size' ? 136 : 125) },
    (t) => t.get(`admin/users?${query}`, service).is(...refusal(400, 'validation_failed')),
  )
}

export const update = group('auth.admin-update', {
  title: 'Administrators change users',
  source: `${reference}/auth-admin-updateuserbyid`,
  needs: ['service'],
})

update.case('data', 'data are added to those that are there', async (t) => {
  const { id } = await account(t, {
    user_metadata: { nick: 'Ace', town: 'Ostend' },
    app_metadata: { team: 'east' },
  })
  const { data, error } = await t.service.auth.admin.updateUserById(id, {
    ...{ user_metadata: { shirt: 7, town: null }, app_metadata: { captain: true } },
  })
  t.data(
    { data: data.user, error },
    partly({
      user_metadata: partly({ nick: 'Ace', shirt: 7, town: undefined }),
      app_metadata: partly({ team: 'east', captain: true, provider: 'email' }),
    }),
  )
})

update.case('email', 'an address changes at once', async (t) => {
  const { id, password } = await account(t)
  const email = freshEmail(t)
  const { data, error } = await t.service.auth.admin.updateUserById(id, {
    email: email.toUpperCase(),
  })
  t.data({ data: data.user, error }, partly({ email, new_email: undefined }))
  await t.post('token?grant_type=password', { email, password }).has(200, {
    user: partly({ identities: [partly({ identity_data: partly({ email }) })] }),
  })
})

update.case('email.confirm', 'an address is confirmed', async (t) => {
  const { id } = await account(t, { email_confirm: false })
  await t
    .put(`admin/users/${id}`, { email_confirm: true }, service)
    .has(200, { id, email_confirmed_at: some.time })
})

update.case('phone', 'a number is added, with its identity', async (t) => {
  const { id } = await account(t)
  const phone = freshPhone()
  await t.put(`admin/users/${id}`, { phone, phone_confirm: true }, service).is(200)
  await t.get(`admin/users/${id}`, service).has(200, {
    ...{ phone, phone_confirmed_at: some.time },
    identities: [
      partly({ provider: 'email' }),
      partly({ provider: 'phone', identity_data: partly({ phone, phone_verified: true }) }),
    ],
  })
})

update.case('role', 'a user gets another role', async (t) => {
  const { id } = await account(t)
  await t
    .put(`admin/users/${id}`, { role: 'conformance_referee' }, service)
    .has(200, { id, role: 'conformance_referee' })
})

update.case(
  'anonymous',
  'who gets a confirmed address is not anonymous any more',
  { source: gotrue('admin.go', 298) },
  async (t) => {
    const response = await t.post('signup', {})
    if (response.field('error_code') === 'anonymous_provider_disabled') {
      t.absent('anonymous sign-ins are off')
    }
    removesUserOf(t, response)
    const email = freshEmail(t)
    const path = `admin/users/${String(userOf(response).id)}`
    await t.put(path, { email }, service).has(200, { email, is_anonymous: true })
    await t.put(path, { email, email_confirm: true }, service).is(200)
    await t.get(path, service).has(200, {
      is_anonymous: false,
      identities: [partly({ identity_data: partly({ email, email_verified: true }) })],
    })
  },
)

update.case('password', 'a password is replaced, and all sessions end', async (t) => {
  const user = await t.user()
  const password = freshPassword()
  t.ok(await t.service.auth.admin.updateUserById(user.id, { password }))
  await t.get('user', { as: user }).is(...refusal(403, 'session_not_found'))
  await t.post('token?grant_type=password', { email: user.email, password }).is(200)
  await t
    .post('token?grant_type=password', { email: user.email, password: user.password })
    .is(...refusal(400, 'invalid_credentials'))
})

update.case(
  'password.weak',
  'a new password has to be strong',
  { source: gotrue('admin.go', 239) },
  async (t) => {
    const user = await t.user()
    for (const password of ['aA1!', '']) {
      await t
        .put(`admin/users/${user.id}`, { password }, service)
        .has(422, { error_code: 'weak_password' })
    }
    await t.get('user', { as: user }).has(200, { id: user.id })
  },
)

update.case('ban', 'a ban is laid and lifted', async (t) => {
  const who = await account(t)
  const path = `admin/users/${who.id}`
  await t.put(path, { ban_duration: '1h30m' }, service).has(200, { banned_until: some.time })
  await t
    .post('token?grant_type=password', { email: who.email, password: who.password })
    .is(...refusal(400, 'user_banned'))
  await t.put(path, { user_metadata: {} }, service).has(200, { banned_until: some.time })
  await t.put(path, { ban_duration: 'none' }, service).has(200, { banned_until: undefined })
  await t.post('token?grant_type=password', { email: who.email, password: who.password }).is(200)
})

const malformed: [string, string, Record<string, string>, number][] = [
  ['ban', 'what is no duration is refused', { ban_duration: 'for ever' }, 227],
  ['email', 'what is no address is refused', { email: 'nobody at example.com' }, 208],
  ['phone', 'what is no number is refused', { phone: 'call me' }, 215],
  ['password', 'a password of 73 bytes is refused', { password: 'x'.repeat(73) }, 239],
]
for (const [name, promise, body, line] of malformed) {
  update.case(
    `malformed.${name}`,
    `${promise}, and nothing changes`,
    { source: gotrue('admin.go', line) },
    async (t) => {
      const { id } = await account(t)
      await t
        .put(`admin/users/${id}`, { role: 'conformance_referee', ...body }, service)
        .is(...refusal(400, 'validation_failed'))
      await t.get(`admin/users/${id}`, service).has(200, { id, role: 'authenticated' })
    },
  )
}

update.case('unknown', 'an unknown user is not found', { source: gotrue('admin.go', 66) }, (t) =>
  t.put(`admin/users/${randomUUID()}`, {}, service).is(...refusal(404, 'user_not_found')),
)

export const remove = group('auth.admin-delete', {
  title: 'Administrators delete users',
  source: `${reference}/auth-admin-deleteuser`,
  needs: ['service'],
})

remove.case('user', 'a deleted user is gone', async (t) => {
  const { id } = await account(t)
  t.ok(await t.service.auth.admin.deleteUser(id))
  await t.get(`admin/users/${id}`, service).is(...refusal(404, 'user_not_found'))
})

remove.case('again', 'an address is free again', { source: openapi(1624) }, async (t) => {
  const { id, email } = await account(t)
  await t.delete(`admin/users/${id}`, service).is(200, {})
  const response = await makes(t, { email })
  response.has(200, { email })
})

remove.case(
  'sessions',
  'the sessions of a deleted user are gone',
  { source: openapi(1624) },
  async (t) => {
    const who = await account(t)
    const { refresh_token } = await signIn(t, who)
    await t.delete(`admin/users/${who.id}`, service).is(200)
    await t
      .post('token?grant_type=refresh_token', { refresh_token })
      .is(...refusal(400, 'refresh_token_not_found'))
  },
)

remove.case('soft', 'a user that is deleted softly stays without its data', async (t) => {
  const { id, email } = await account(t, { user_metadata: { nick: 'Ace' } })
  t.ok(await t.service.auth.admin.deleteUser(id, true))
  const response = await t
    .get(`admin/users/${id}`, service)
    .has(200, { id, deleted_at: some.time, user_metadata: partly({ nick: undefined }) })
  t.equal(response.field('email') === email, false, null)
})

remove.case('soft.sign-in', 'a user that is deleted softly does not sign in', async (t) => {
  const { id, email, password } = await account(t)
  t.ok(await t.service.auth.admin.deleteUser(id, true))
  await t
    .post('token?grant_type=password', { email, password })
    .is(...refusal(400, 'invalid_credentials'))
})

remove.case('unknown', 'an unknown user is not found', { source: gotrue('admin.go', 66) }, (t) =>
  t.delete(`admin/users/${randomUUID()}`, service).is(...refusal(404, 'user_not_found')),
)
