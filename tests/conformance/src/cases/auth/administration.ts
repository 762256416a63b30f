import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  account,
  freshEmail,
  freshPassword,
  gotrue,
  link,
  openapi,
  refusal,
  removesUser,
  removesUserOf,
  signIn,
} from '../../gotrue.ts'
import { including, partly, some } from '../../match.ts'

const service = { as: 'service' } as const

export const links = group('auth.admin-link', {
  title: 'Links without mails',
  source: 'https://supabase.com/docs/reference/javascript/auth-admin-generatelink',
  needs: ['service'],
})

/** Returns the parts of a link of a kind. */
const parts = (type: string, verification_type = type) => ({
  action_link: new RegExp(`/verify\\?.*type=${type}`),
  email_otp: /^\d{6,10}$/,
  hashed_token: some.string,
  redirect_to: /^\w+:\/\//,
  verification_type,
})

links.case('signup', 'a link for a sign-up makes the user', async (t) => {
  const email = freshEmail(t)
  const { data, error } = await t.service.auth.admin.generateLink({
    ...{ type: 'signup', email, password: freshPassword(), options: { data: { nick: 'Ace' } } },
  })
  removesUser(t, data.user?.id)
  t.data(
    { data, error },
    partly({
      properties: partly(parts('signup')),
      user: partly({
        email,
        user_metadata: partly({ nick: 'Ace' }),
        identities: [partly({ provider: 'email', identity_data: partly({ email }) })],
      }),
    }),
  )
})

links.case(
  'signup.again',
  'a second link for a sign-up replaces the first one, and needs no password',
  { source: gotrue('mail.go', 203) },
  async (t) => {
    const email = freshEmail(t)
    const first = await link(t, 'signup', email, { password: freshPassword() })
    const body = { type: 'signup', email, data: { team: 'east' } }
    const second = await t
      .post('admin/generate_link', body, service)
      .has(200, { id: first.id, user_metadata: partly({ team: 'east' }) })
    await t
      .post('verify', { type: 'signup', token_hash: first.hashed_token })
      .is(...refusal(403, 'otp_expired'))
    await t
      .post('verify', { type: 'signup', token_hash: second.field('hashed_token') })
      .has(200, { user: partly({ id: first.id }) })
  },
)

links.case(
  'invite.again',
  'who has not accepted is invited again as the same user',
  { source: gotrue('mail.go', 164) },
  async (t) => {
    const email = freshEmail(t)
    const { id } = await link(t, 'invite', email)
    await t
      .post('admin/generate_link', { type: 'invite', email }, service)
      .has(200, { id, ...parts('invite') })
  },
)

links.case('invite', 'a link for an invitation makes the user', async (t) => {
  const email = freshEmail(t)
  const { data, error } = await t.service.auth.admin.generateLink({ type: 'invite', email })
  removesUser(t, data.user?.id)
  t.data(
    { data, error },
    partly({
      properties: partly(parts('invite')),
      user: partly({ email, invited_at: some.time }),
    }),
  )
})

for (const type of ['magiclink', 'recovery'] as const) {
  links.case(
    type,
    `a link ${type === 'recovery' ? 'for a recovery' : 'to sign in'} is for a user who is there`,
    async (t) => {
      const { id, email } = await account(t)
      const { data, error } = await t.service.auth.admin.generateLink({ type, email })
      t.data(
        { data, error },
        partly({
          properties: partly(parts(type)),
          user: partly({ id, email, recovery_sent_at: some.time }),
        }),
      )
    },
  )
}

links.case(
  'magiclink.new',
  'a link to sign in makes a user where there is none, and is one for a sign-up then',
  { source: gotrue('mail.go', 78) },
  async (t) => {
    const email = freshEmail(t)
    const body = { type: 'magiclink', email }
    const response = await t.post('admin/generate_link', body, service)
    removesUserOf(t, response)
    response.has(200, { email, ...parts('signup') })
  },
)

for (const type of ['email_change_current', 'email_change_new'] as const) {
  links.case(
    type.replaceAll('_', '-'),
    `a link for another address, to the ${type === 'email_change_new' ? 'new' : 'current'} one`,
    async (t) => {
      const { email } = await account(t)
      const newEmail = freshEmail(t)
      const { data, error } = await t.service.auth.admin.generateLink({
        ...{ type, email, newEmail: newEmail.toUpperCase() },
      })
      if (error?.code === 'validation_failed') t.absent('the new address alone confirms')
      t.data(
        { data, error },
        partly({
          properties: partly(parts('email_change', type)),
          user: partly({ email, new_email: newEmail, email_change_sent_at: some.time }),
        }),
      )
    },
  )
}

type Body = (t: Context) => Promise<Record<string, unknown>> | Record<string, unknown>
const refusals: [string, string, Body, number, string, number][] = [
  [
    'type',
    'a kind of link that is none is refused',
    async (t) => ({ type: 'pigeon', email: (await account(t)).email }),
    400,
    'validation_failed',
    283,
  ],
  [
    'type.none',
    'the kind of a link has to be told',
    async (t) => ({ email: (await account(t)).email }),
    400,
    'validation_failed',
    283,
  ],
  [
    'email.none',
    'a link has an address',
    () => ({ type: 'magiclink' }),
    400,
    'validation_failed',
    64,
  ],
  [
    'email.malformed',
    'a text that is no address gets no link',
    () => ({ type: 'magiclink', email: 'nobody at example.com' }),
    400,
    'validation_failed',
    64,
  ],
  [
    'password.none',
    'a link for a sign-up has a password',
    (t) => ({ type: 'signup', email: freshEmail(t) }),
    400,
    'validation_failed',
    114,
  ],
  [
    'recovery.unknown',
    'nobody is recovered who is not there',
    (t) => ({ type: 'recovery', email: freshEmail(t) }),
    404,
    'user_not_found',
    86,
  ],
  [
    'signup.confirmed',
    'who is confirmed does not sign up',
    async (t) => ({ type: 'signup', email: (await account(t)).email, password: freshPassword() }),
    422,
    'email_exists',
    205,
  ],
  [
    'invite.confirmed',
    'who is confirmed is not invited',
    async (t) => ({ type: 'invite', email: (await account(t)).email }),
    422,
    'email_exists',
    166,
  ],
  [
    'email-change-current.unknown',
    'the current address is that of a user',
    (t) => ({ type: 'email_change_current', email: freshEmail(t), new_email: freshEmail(t) }),
    404,
    'user_not_found',
    86,
  ],
  [
    'email-change-new.unknown',
    'a new address is for a user who is there',
    (t) => ({ type: 'email_change_new', email: freshEmail(t), new_email: freshEmail(t) }),
    404,
    'user_not_found',
    86,
  ],
  [
    'email-change-new.none',
    'the new address has to be told',
    async (t) => ({ type: 'email_change_new', email: (await account(t)).email }),
    400,
    'validation_failed',
    245,
  ],
  [
    'email-change-new.taken',
    'the address of another user is no new one',
    async (t) => ({
      type: 'email_change_new',
      email: (await account(t)).email,
      new_email: (await account(t)).email,
    }),
    422,
    'email_exists',
    252,
  ],
]
for (const [name, promise, body, status, code, line] of refusals) {
  links.case(name, promise, { source: gotrue('mail.go', line) }, async (t) => {
    await t.post('admin/generate_link', await body(t), service).is(...refusal(status, code))
  })
}

links.case('user', 'users make no links', { source: openapi(1345) }, async (t) => {
  const one = await t.user()
  const body = { type: 'magiclink', email: one.email }
  await t.post('admin/generate_link', body, { as: one }).is(...refusal(403, 'not_admin'))
})

export const factors = group('auth.admin-factor', {
  title: 'Administrators and second factors',
  source: openapi(1649),
  needs: ['service'],
})

/** Makes a user with a factor that waits. */
async function withFactor(t: Context) {
  const user = await t.user()
  const body = { factor_type: 'totp', friendly_name: 'app' }
  const response = await t.post('factors', body, { as: user })
  if (response.field('error_code') === 'mfa_totp_enroll_not_enabled') t.absent('the factor is off')
  const id = response.field('id')
  return { user, id, path: `admin/users/${user.id}/factors` }
}

factors.case(
  'list',
  'the factors of a user are listed',
  { source: 'https://supabase.com/docs/reference/javascript/auth-admin-mfa-listfactors' },
  async (t) => {
    const { user, id } = await withFactor(t)
    const { data, error } = await t.service.auth.admin.mfa.listFactors({ userId: user.id })
    t.data({ data: data?.factors, error }, [
      partly({
        ...{ id, status: 'unverified', factor_type: 'totp', friendly_name: 'app' },
        secret: undefined,
      }),
    ])
  },
)

factors.case('list.none', 'a user without factors has none', async (t) => {
  const { id } = await account(t)
  await t.get(`admin/users/${id}/factors`, service).is(200, [])
})

factors.case('update', 'a factor gets another name', { source: openapi(1698) }, async (t) => {
  const { id, path } = await withFactor(t)
  await t
    .put(`${path}/${id}`, { friendly_name: 'the old one' }, service)
    .has(200, { id, friendly_name: 'the old one' })
})

factors.case(
  'delete',
  'a factor is removed',
  { source: 'https://supabase.com/docs/reference/javascript/auth-admin-mfa-deletefactor' },
  async (t) => {
    const { user, id, path } = await withFactor(t)
    t.ok(await t.service.auth.admin.mfa.deleteFactor({ userId: user.id, id }))
    await t.get(path, service).is(200, [])
  },
)

factors.case(
  'unknown',
  'a factor that is unknown, or of another user, is not found',
  { source: gotrue('admin.go', 89) },
  async (t) => {
    const { id } = await account(t)
    const { id: others } = await withFactor(t)
    for (const factor of [randomUUID(), others]) {
      await t
        .delete(`admin/users/${id}/factors/${factor}`, service)
        .is(...refusal(404, 'mfa_factor_not_found'))
    }
  },
)

factors.case(
  'user.unknown',
  'an unknown user has no factors',
  { source: gotrue('admin.go', 66) },
  async (t) => {
    const path = (user: string) => `admin/users/${user}/factors/${randomUUID()}`
    await t.delete(path(randomUUID()), service).is(...refusal(404, 'user_not_found'))
    await t.delete(path('seven'), service).is(...refusal(404, 'validation_failed'))
  },
)

factors.case(
  'malformed',
  'a factor is named by a UUID',
  { source: gotrue('admin.go', 81) },
  async (t) => {
    const { id } = await account(t)
    await t
      .delete(`admin/users/${id}/factors/seven`, service)
      .is(...refusal(404, 'validation_failed'))
  },
)

export const audit = group('auth.audit', {
  title: 'The journal of what happened',
  source: 'https://supabase.com/docs/guides/auth/audit-logs',
  needs: ['service'],
  probe: async (t) => {
    const response = await t.get('admin/audit?per_page=1', service)
    t.present(response)
    // A journal that is kept elsewhere is empty here.
    const { email, password } = await account(t)
    await t.post('token?grant_type=password', { email, password })
    const repeated = await t.get(`admin/audit?query=author:${encodeURIComponent(email)}`, service)
    if (JSON.stringify(repeated.json) === '[]') t.absent('the journal is not in the database')
  },
})

// Other cases write entries at the same time.
const journal = (t: Context, query: string) =>
  t.get(`admin/audit?per_page=200&query=${encodeURIComponent(query)}`, service)

audit.case('sign-in', 'a sign-in is in the journal, with who and when', async (t) => {
  const full_name = t.unique('name')
  const who = await account(t, { user_metadata: { full_name } })
  await signIn(t, who)
  await journal(t, `author:${who.email}`).is(
    200,
    including(
      partly({
        id: some.uuid,
        created_at: some.time,
        payload: partly({
          ...{ action: 'login', log_type: 'account' },
          ...{ actor_id: who.id, actor_username: who.email },
        }),
      }),
    ),
  )
  await journal(t, `author:${full_name}`).is(200, [
    partly({ payload: partly({ action: 'login', actor_id: who.id, actor_name: full_name }) }),
  ])
})

audit.case('sign-out', 'a sign-out is in the journal', async (t) => {
  const who = await account(t)
  const { access_token: token } = await signIn(t, who)
  await t.post('logout', undefined, { as: { token } }).is(204)
  // The newest entry is the first one.
  await journal(t, `author:${who.email}`).is(200, [
    partly({ payload: partly({ action: 'logout', log_type: 'account' }) }),
    partly({ payload: partly({ action: 'login', log_type: 'account' }) }),
  ])
})

audit.case('administrator', 'what administrators do is in the journal', async (t) => {
  const { id, email } = await account(t)
  await t.put(`admin/users/${id}`, { role: 'conformance_referee' }, service).is(200)
  await t.delete(`admin/users/${id}`, service).is(200)
  const { id: invited } = await link(t, 'invite', email)
  for (const [action, user_id, log_type] of [
    ['user_signedup', id, 'team'],
    ['user_modified', id, 'user'],
    ['user_deleted', id, 'team'],
    ['user_invited', invited, 'team'],
  ] as const) {
    const traits = partly({ user_id, user_email: email })
    await journal(t, `action:${action}`).is(
      200,
      including(partly({ payload: partly({ action, log_type, traits }) })),
    )
  }
})

audit.case('change', 'a change of a user is in the journal', async (t) => {
  const user = await t.user()
  await t.put('user', { data: { nick: 'Ace' } }, { as: user }).is(200)
  await journal(t, `author:${user.email}`).is(
    200,
    including(partly({ payload: partly({ action: 'user_modified', log_type: 'user' }) })),
  )
})

audit.case('recovery', 'a recovery is in the journal', async (t) => {
  const { id, email } = await account(t)
  await link(t, 'recovery', email)
  await journal(t, `author:${email}`).is(
    200,
    including(
      partly({
        payload: partly({ actor_id: id, action: 'user_recovery_requested', log_type: 'user' }),
      }),
    ),
  )
})

audit.case(
  'filter',
  'only the actions that are asked for are told',
  { source: gotrue('audit.go', 11) },
  async (t) => {
    await signIn(t, await account(t))
    const response = await journal(t, 'action:login')
    response.is(200, including(partly({ payload: partly({ action: 'login' }) })))
    const { json } = response
    const actions = (json as { payload: { action: string } }[]).map(({ payload }) => payload.action)
    t.equal([...new Set(actions)], ['login'], null)
  },
)

audit.case(
  'filter.type',
  'only the kinds of actions that are asked for are told',
  { source: gotrue('audit.go', 11) },
  async (t) => {
    await signIn(t, await account(t))
    const response = await journal(t, 'type:account')
    response.is(200, including(partly({ payload: partly({ log_type: 'account' }) })))
    const entries = response.json as { payload: { log_type: string } }[]
    t.equal([...new Set(entries.map(({ payload }) => payload.log_type))], ['account'], null)
  },
)

audit.case(
  'page',
  'a page has as many entries as are asked for, and is counted',
  { source: openapi(1427) },
  async (t) => {
    await signIn(t, await account(t))
    await t
      .get('admin/audit?per_page=1&page=1', service)
      .is(200, [partly({ id: some.uuid })])
      .header('x-total-count', /^\d+$/)
      .header('link', /rel="last"/)
  },
)

audit.case('filter.unknown', 'another filter is refused', { source: gotrue('audit.go', 35) }, (t) =>
  journal(t, 'weather:rain').is(...refusal(400, 'validation_failed')),
)

audit.case('user', 'users do not read the journal', { source: openapi(1427) }, async (t) => {
  const user = await t.user()
  await t.get('admin/audit', { as: user }).is(...refusal(403, 'not_admin'))
})
