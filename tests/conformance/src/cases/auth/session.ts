import type { Context } from '../../context.ts'
import { group } from '../../case.ts'
import { account, claimsOf, gotrue, openapi, refusal, signIn, type Session } from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const sessions = 'https://supabase.com/docs/guides/auth/sessions'

export const refresh = group('auth.refresh', {
  title: 'Refresh tokens',
  source: sessions,
  needs: ['service'],
})

const refreshes = (t: Context, refresh_token: string) =>
  t.post('token?grant_type=refresh_token', { refresh_token })

/** Makes a session of an account of its own. */
async function session(t: Context): Promise<Session> {
  return signIn(t, await account(t))
}

/** Uses a refresh token a second time. If the reuse interval still allows that, uses it once more after the interval. */
async function reuse(t: Context, token: string) {
  const response = await refreshes(t, token)
  if (response.status !== 200) return response
  await t.pause(11_000)
  return refreshes(t, token)
}

refresh.case(
  'rotation',
  'a refresh token gives a new session with another refresh token',
  { source: openapi(63) },
  async (t) => {
    const before = await session(t)
    const response = await refreshes(t, before.refresh_token).is(200, {
      access_token: some.token,
      token_type: 'bearer',
      expires_in: some.number,
      expires_at: some.number,
      refresh_token: some.string,
      user: partly({ id: before.user.id }),
    })
    t.equal(response.field('refresh_token') === before.refresh_token, false, null)
  },
)

refresh.case(
  'client',
  'a stock client refreshes its session',
  { source: 'https://supabase.com/docs/reference/javascript/auth-refreshsession' },
  async (t) => {
    const user = await t.user()
    const { data, error } = await user.client.auth.refreshSession()
    t.data({ data: data.user, error }, partly({ id: user.id, email: user.email }))
    // The client asks again where a server fails, so the first response has to be the only one.
    t.equal(t.recorder.exchanges.length, 1, null)
  },
)

refresh.case('session', 'the session stays the same, and how it began', async (t) => {
  const before = await session(t)
  const response = await refreshes(t, before.refresh_token).has(200, { access_token: some.token })
  const { session_id, amr } = claimsOf(before.access_token)
  t.equal(claimsOf(response.field('access_token')), partly({ session_id, amr, aal: 'aal1' }), null)
})

refresh.case(
  'claims',
  'a new token says what is known of the user now',
  { source: 'https://supabase.com/docs/guides/auth/jwt-fields' },
  async (t) => {
    const before = await session(t)
    const path = `/auth/v1/admin/users/${before.user.id}`
    await t.prepare('PUT', path, { app_metadata: { team: 'west' } })
    const response = await refreshes(t, before.refresh_token).has(200, { access_token: some.token })
    t.equal(
      claimsOf(response.field('access_token')),
      partly({ app_metadata: partly({ team: 'west' }) }),
      null,
    )
  },
)

refresh.case('parent', 'the token before the newest gives the newest again', async (t) => {
  const { refresh_token } = await session(t)
  const first = await refreshes(t, refresh_token)
  await refreshes(t, refresh_token).has(200, { refresh_token: first.field('refresh_token') })
})

refresh.case('parallel', 'all who refresh at the same time get the same new token', async (t) => {
  const { refresh_token, user } = await session(t)
  const responses = await Promise.all([1, 2, 3].map(() => refreshes(t, refresh_token)))
  for (const response of responses) response.has(200, { user: partly({ id: user.id }) })
  const [newest] = responses.map((response) => response.field('refresh_token'))
  t.equal(
    responses.map((response) => response.field('refresh_token')),
    [newest, newest, newest],
    null,
  )
})

refresh.case(
  'reuse',
  'a token from before that is taken for stolen',
  { timeout: 60 },
  async (t) => {
    const { refresh_token } = await session(t)
    const second = await refreshes(t, refresh_token).is(200)
    await refreshes(t, second.field('refresh_token')).is(200)
    const response = await reuse(t, refresh_token)
    response.is(
      ...refusal(400, 'refresh_token_already_used', 'Invalid Refresh Token: Already Used'),
    )
  },
)

refresh.case(
  'reuse.session',
  'the use of a stolen token ends the session',
  { timeout: 60 },
  async (t) => {
    const { refresh_token } = await session(t)
    const second = await refreshes(t, refresh_token).is(200)
    const third = await refreshes(t, second.field('refresh_token')).is(200)
    await reuse(t, refresh_token)
    const response = await reuse(t, third.field('refresh_token'))
    response.is(...refusal(400, /^(refresh_token_(already_used|not_found)|session_not_found)$/))
  },
)

refresh.case(
  'unknown',
  'a token that was never issued is refused',
  { source: gotrue('token_refresh.go', 42) },
  (t) =>
    refreshes(t, 'abcdefghijkl').is(
      ...refusal(400, 'refresh_token_not_found', 'Invalid Refresh Token: Refresh Token Not Found'),
    ),
)

for (const [name, token] of [
  ['short', 'abc'],
  ['malformed', 'this is no token at all'],
] as const) {
  refresh.case(
    `invalid.${name}`,
    `a text that is ${name === 'short' ? 'too short for a token' : 'no token'} is refused`,
    { source: gotrue('token_refresh.go', 20) },
    (t) => refreshes(t, token).is(...refusal(400, 'validation_failed')),
  )
}

refresh.case('signed-out', 'after the sign-out nothing is refreshed', async (t) => {
  const { access_token, refresh_token } = await session(t)
  await t.post('logout', undefined, { as: { token: access_token } }).is(204)
  await refreshes(t, refresh_token).is(...refusal(400, 'refresh_token_not_found'))
})

refresh.case(
  'banned',
  'a banned user refreshes nothing',
  { source: 'https://supabase.com/docs/guides/auth/debugging/error-codes' },
  async (t) => {
    const { refresh_token, user } = await session(t)
    await t.prepare('PUT', `/auth/v1/admin/users/${user.id}`, { ban_duration: '1h' })
    await refreshes(t, refresh_token).is(...refusal(400, 'user_banned'))
  },
)

export const signOut = group('auth.sign-out', {
  title: 'Signing out',
  source: 'https://supabase.com/docs/guides/auth/signout',
  needs: ['service'],
})

const scopes: [string, string, string, { own: boolean; other: boolean }][] = [
  ['default', '', 'without a scope all sessions end', { own: false, other: false }],
  ['global', '?scope=global', 'all sessions end', { own: false, other: false }],
  ['local', '?scope=local', 'only the own session ends', { own: false, other: true }],
  ['others', '?scope=others', 'all sessions but the own end', { own: true, other: false }],
]
for (const [name, query, promise, left] of scopes) {
  signOut.case(`scope.${name}`, promise, async (t) => {
    const who = await account(t)
    const own = await signIn(t, who)
    const other = await signIn(t, who)
    const bystander = await t.user()
    await t.post(`logout${query}`, undefined, { as: { token: own.access_token } }).empty(204)
    await refreshes(t, own.refresh_token).is(left.own ? 200 : 400)
    await refreshes(t, other.refresh_token).is(left.other ? 200 : 400)
    await refreshes(t, bystander.refreshToken).is(200)
  })
}

signOut.case(
  'scope.unknown',
  'an unknown scope is refused',
  { source: gotrue('logout.go', 39) },
  async (t) => {
    const { access_token: token } = await session(t)
    await t
      .post('logout?scope=planet', undefined, { as: { token } })
      .is(...refusal(400, 'validation_failed'))
  },
)

signOut.case('client', 'a stock client ends its session', async (t) => {
  const user = await t.user()
  t.ok(await user.client.auth.signOut())
  await t.get('user', { as: user }).is(...refusal(403, 'session_not_found'))
})

signOut.case(
  'admin',
  'a token is enough to end the sessions of its user from elsewhere',
  { source: 'https://supabase.com/docs/reference/javascript/auth-admin-signout' },
  async (t) => {
    const user = await t.user()
    t.ok(await t.service.auth.admin.signOut(user.token, 'global'))
    await refreshes(t, user.refreshToken).is(...refusal(400, 'refresh_token_not_found'))
  },
)
