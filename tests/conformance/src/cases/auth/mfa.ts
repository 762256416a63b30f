import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context, User } from '../../context.ts'
import {
  claimsOf,
  enrolls,
  freshEmail,
  freshPassword,
  freshPhone,
  gotrue,
  openapi,
  otherCode,
  refusal,
  signIn,
  totp,
} from '../../gotrue.ts'
import { partly, some, unordered } from '../../match.ts'

const guide = 'https://supabase.com/docs/guides/auth/auth-mfa'
const app = 'https://supabase.com/docs/guides/auth/auth-mfa/totp'

export const mfa = group('auth.mfa', {
  title: 'A second factor: authenticators',
  source: app,
  needs: ['service'],
  probe: (t) => enrolls(t, { factor_type: 'totp' }),
})

interface TotpFactor {
  id: string
  totp: { secret: string }
}

const enroll = (t: Context, as: { token: string }, more: Record<string, unknown> = {}) =>
  t.post('factors', { factor_type: 'totp', ...more }, { as })

/** Makes a factor that waits to be verified. */
async function enrolled(t: Context, as: { token: string }, name = 'app'): Promise<TotpFactor> {
  const response = await enroll(t, as, { friendly_name: name }).is(200)
  return response.json as TotpFactor
}

/** Verifies a factor with a challenge of its own, and gives the response. */
async function verifies(t: Context, as: { token: string }, factor: TotpFactor) {
  const challenge = await t.post(`factors/${factor.id}/challenge`, {}, { as }).is(200)
  const body = { challenge_id: challenge.field('id'), code: totp(factor.totp.secret) }
  return t.post(`factors/${factor.id}/verify`, body, { as })
}

/**
 * Makes a user with a verified factor: the first session, which has the first level, and the one of the second level.
 */
async function doubled(t: Context) {
  const user = await t.user()
  const factor = await enrolled(t, user)
  const response = await verifies(t, user, factor)
  response.is(200)
  return {
    ...{ user, factor, response, strong: { token: response.field('access_token') } },
    refreshToken: response.field('refresh_token'),
  }
}

/** Makes another session of the user, of the first level. */
async function weakly(t: Context, user: User) {
  return { token: (await signIn(t, user)).access_token }
}

mfa.case('enroll', 'a new factor comes with its secret, as a text and as a picture', async (t) => {
  const user = await t.user()
  const { data, error } = await user.client.auth.mfa.enroll({
    ...{ factorType: 'totp', friendlyName: 'app' },
  })
  t.data(
    { data, error },
    partly({
      id: some.uuid,
      type: 'totp',
      friendly_name: 'app',
      totp: partly({
        secret: /^[A-Z2-7]{16,}$/,
        uri: /^otpauth:\/\/totp\//,
        qr_code: /^data:image\/svg\+xml;utf-8,.*<svg/s,
      }),
    }),
  )
})

mfa.case(
  'enroll.issuer',
  'the authenticator is told whose codes they are',
  { source: openapi(954) },
  async (t) => {
    const user = await t.user()
    const name = encodeURIComponent(user.email).replace('%40', '(@|%40)')
    await enroll(t, user, { issuer: 'Terrace' }).has(200, {
      totp: partly({
        uri: new RegExp(`^otpauth://totp/Terrace:${name}\\?(?=.*secret=)(?=.*issuer=Terrace)`),
      }),
    })
  },
)

mfa.case(
  'enroll.type',
  'a kind of factor that is none is refused',
  { source: gotrue('mfa.go', 337) },
  async (t) => {
    const user = await t.user()
    await t
      .post('factors', { factor_type: 'pigeon' }, { as: user })
      .is(...refusal(400, 'validation_failed'))
  },
)

for (const [name, friendly_name] of [
  ['same', 'app'],
  ['none', ''],
] as const) {
  mfa.case(
    `enroll.name.${name}`,
    name === 'same' ? 'two factors have not the same name' : 'two factors are not without a name',
    { source: gotrue('mfa.go', 112) },
    async (t) => {
      const user = await t.user()
      await enroll(t, user, { friendly_name }).is(200)
      await enroll(t, user, { friendly_name }).is(...refusal(422, 'mfa_factor_name_conflict'))
      await t.get('user', { as: user }).has(200, {
        factors: [partly({ friendly_name: friendly_name === '' ? undefined : friendly_name })],
      })
    },
  )
}

mfa.case('enroll.nobody', 'nobody has no factor', { source: openapi(954) }, (t) =>
  t
    .post(
      'factors',
      { factor_type: 'totp' },
      {
        ...{ as: 'nobody', headers: { apikey: t.target.anonKey } },
      },
    )
    .is(...refusal(401, 'no_authorization')),
)

mfa.case(
  'unverified',
  'a new factor is told as unverified',
  { source: openapi(3361) },
  async (t) => {
    const user = await t.user()
    const { id } = await enrolled(t, user)
    await t.get('user', { as: user }).has(200, {
      factors: [
        partly({
          ...{ id, status: 'unverified', factor_type: 'totp', friendly_name: 'app' },
          ...{ created_at: some.time, updated_at: some.time, secret: undefined },
        }),
      ],
    })
  },
)

mfa.case(
  'unverified.level',
  'a factor that is not verified changes nothing for the user',
  { source: guide },
  async (t) => {
    const user = await t.user()
    await enrolled(t, user)
    const password = freshPassword()
    await t.put('user', { password }, { as: user }).has(200, { id: user.id })
    const { data, error } = await user.client.auth.mfa.getAuthenticatorAssuranceLevel()
    t.ok({ error })
    t.equal(data, partly({ currentLevel: 'aal1', nextLevel: 'aal1' }), null)
  },
)

mfa.case('challenge', 'a challenge has an id and an end', { source: openapi(1017) }, async (t) => {
  const user = await t.user()
  const { id } = await enrolled(t, user)
  await t
    .post(`factors/${id}/challenge`, {}, { as: user })
    .is(200, { id: some.uuid, type: 'totp', expires_at: some.number })
})

const paths: [string, string, string, number, string, number][] = [
  ['unknown', 'an unknown factor is not found', randomUUID(), 404, 'mfa_factor_not_found', 89],
  ['malformed', 'a factor is named by a UUID', 'seven', 404, 'validation_failed', 81],
]
for (const [name, promise, id, status, code, line] of paths) {
  mfa.case(`challenge.${name}`, promise, { source: gotrue('admin.go', line) }, async (t) => {
    const user = await t.user()
    const refused = refusal(status, code)
    await t.post(`factors/${id}/challenge`, {}, { as: user }).is(...refused)
    await t.post(`factors/${id}/verify`, {}, { as: user }).is(...refused)
    await t.delete(`factors/${id}`, { as: user }).is(...refused)
  })
}

mfa.case(
  'foreign',
  'the factor of somebody else is not found',
  { source: gotrue('admin.go', 89) },
  async (t) => {
    const [one, other] = await Promise.all([t.user(), t.user()])
    const { id } = await enrolled(t, one)
    const foreign = refusal(404, 'mfa_factor_not_found')
    await t.post(`factors/${id}/challenge`, {}, { as: other }).is(...foreign)
    await t.post(`factors/${id}/verify`, {}, { as: other }).is(...foreign)
    await t.delete(`factors/${id}`, { as: other }).is(...foreign)
    await t.get('user', { as: one }).has(200, { factors: [partly({ id })] })
  },
)

mfa.case(
  'verify',
  'the code of the authenticator gives a session of the second level',
  async (t) => {
    const { user, response } = await doubled(t)
    response.has(200, {
      access_token: some.token,
      refresh_token: some.string,
      token_type: 'bearer',
      user: partly({ id: user.id }),
    })
    t.equal(claimsOf(response.field('access_token')), partly({ aal: 'aal2', sub: user.id }), null)
  },
)

mfa.case(
  'verify.methods',
  'the token says both ways in which somebody signed in',
  { source: 'https://supabase.com/docs/guides/auth/jwt-fields' },
  async (t) => {
    const { response, user } = await doubled(t)
    response.has(200, { access_token: some.token })
    const method = (name: string) => ({ method: name, timestamp: some.number })
    t.equal(
      claimsOf(response.field('access_token')),
      partly({
        amr: unordered(method('totp'), method('password')),
        session_id: claimsOf(user.token).session_id,
      }),
      null,
    )
  },
)

mfa.case(
  'verify.client',
  'a stock client enrols, challenges and verifies',
  { source: guide },
  async (t) => {
    const { client } = await t.user()
    const { data: factor, error } = await client.auth.mfa.enroll({ factorType: 'totp' })
    t.ok({ error })
    if (!factor) return
    const result = await client.auth.mfa.challengeAndVerify({
      factorId: factor.id,
      code: totp(factor.totp.secret),
    })
    t.data(result, partly({ access_token: some.token }))
    const { data } = await client.auth.mfa.getAuthenticatorAssuranceLevel()
    t.equal(data, partly({ currentLevel: 'aal2', nextLevel: 'aal2' }), null)
  },
)

mfa.case(
  'next-level',
  'who signs in with a password is told that the second level is next',
  { source: `${guide}#add-a-challenge-step-to-login` },
  async (t) => {
    const { user } = await doubled(t)
    const client = t.client(t.target.anonKey)
    const { email, password } = user
    const { error } = await client.auth.signInWithPassword({ email, password })
    t.ok({ error })
    const { data } = await client.auth.mfa.getAuthenticatorAssuranceLevel()
    t.equal(data, partly({ currentLevel: 'aal1', nextLevel: 'aal2' }), null)
  },
)

mfa.case('list', 'a stock client lists the verified factors', async (t) => {
  const { user, factor } = await doubled(t)
  const { email, password } = user
  const client = t.client(t.target.anonKey)
  await client.auth.signInWithPassword({ email, password })
  const { data, error } = await client.auth.mfa.listFactors()
  t.data({ data: data?.totp[0], error }, partly({ id: factor.id, status: 'verified' }))
})

mfa.case(
  'verify.wrong',
  'a wrong code is refused, and the challenge is good still',
  { source: gotrue('mfa.go', 656) },
  async (t) => {
    const user = await t.user()
    const { id, totp: own } = await enrolled(t, user)
    const challenge = await t.post(`factors/${id}/challenge`, {}, { as: user })
    const asks = (code: string) =>
      t.post(`factors/${id}/verify`, { challenge_id: challenge.field('id'), code }, { as: user })
    await asks(otherCode(totp(own.secret))).is(...refusal(422, 'mfa_verification_failed'))
    await asks(totp(own.secret)).is(200)
  },
)

mfa.case('verify.none', 'a code has to be told', { source: gotrue('mfa.go', 999) }, async (t) => {
  const user = await t.user()
  const { id } = await enrolled(t, user)
  const challenge = await t.post(`factors/${id}/challenge`, {}, { as: user })
  await t
    .post(`factors/${id}/verify`, { challenge_id: challenge.field('id'), code: '' }, { as: user })
    .is(...refusal(400, 'validation_failed'))
})

mfa.case(
  'verify.challenge.unknown',
  'a code is for a challenge of the factor',
  { source: gotrue('mfa.go', 547) },
  async (t) => {
    const user = await t.user()
    const { id, totp: own } = await enrolled(t, user)
    const body = { challenge_id: randomUUID(), code: totp(own.secret) }
    await t
      .post(`factors/${id}/verify`, body, { as: user })
      .is(...refusal(422, 'mfa_factor_not_found'))
  },
)

mfa.case(
  'verify.challenge.used',
  'a challenge is accepted one time',
  { source: gotrue('mfa.go', 553) },
  async (t) => {
    const user = await t.user()
    const { id, totp: own } = await enrolled(t, user)
    const challenge = await t.post(`factors/${id}/challenge`, {}, { as: user })
    const body = () => ({ challenge_id: challenge.field('id'), code: totp(own.secret) })
    const first = await t.post(`factors/${id}/verify`, body(), { as: user }).is(200)
    await t
      .post(`factors/${id}/verify`, body(), { as: { token: first.field('access_token') } })
      .is(...refusal(422, /^mfa_(ip_address_mismatch|challenge_expired)$/))
  },
)

mfa.case(
  'verify.others',
  'sessions of the first level end with the first verified factor',
  { source: gotrue('mfa.go', 702) },
  async (t) => {
    const user = await t.user()
    const weak = await weakly(t, user)
    const response = await verifies(t, user, await enrolled(t, user))
    response.is(200)
    await t.get('user', { as: weak }).is(...refusal(403, 'session_not_found'))
    await t
      .get('user', { as: { token: response.field('access_token') } })
      .has(200, { factors: [partly({ status: 'verified' })] })
  },
)

mfa.case(
  'verify.unverified',
  'other factors that wait are gone with the first verified one',
  { source: gotrue('mfa.go', 705) },
  async (t) => {
    const user = await t.user()
    await enrolled(t, user, 'one')
    const factor = await enrolled(t, user, 'two')
    const response = await verifies(t, user, factor)
    await t
      .get('user', { as: { token: response.field('access_token') } })
      .has(200, { factors: [partly({ id: factor.id, friendly_name: 'two' })] })
  },
)

mfa.case(
  'refresh',
  'the level stays when the session is refreshed',
  { source: 'https://supabase.com/docs/guides/auth/sessions' },
  async (t) => {
    const { refreshToken: refresh_token } = await doubled(t)
    const response = await t
      .post('token?grant_type=refresh_token', { refresh_token })
      .has(200, { access_token: some.token })
    t.equal(claimsOf(response.field('access_token')), partly({ aal: 'aal2' }), null)
  },
)

/** Adds a case: what matters is changed at the second level only. */
function guards(name: string, what: string, body: (t: Context) => Record<string, unknown>) {
  mfa.case(
    name,
    `${what} of a user with a factor is changed at the second level only`,
    { source: gotrue('user.go', 106) },
    async (t) => {
      const { user } = await doubled(t)
      await t
        .put('user', body(t), { as: await weakly(t, user) })
        .is(...refusal(401, 'insufficient_aal'))
    },
  )
}

guards('guard.password', 'the password', () => ({ password: freshPassword() }))
guards('guard.email', 'the address', (t) => ({ email: freshEmail(t) }))
guards('guard.phone', 'the number', () => ({ phone: freshPhone() }))

mfa.case(
  'guard.data',
  'data are changed at the first level, and all else at the second',
  { source: gotrue('user.go', 106) },
  async (t) => {
    const { user, strong } = await doubled(t)
    await t
      .put('user', { data: { nick: 'Ace' } }, { as: await weakly(t, user) })
      .has(200, { user_metadata: partly({ nick: 'Ace' }) })
    await t.put('user', { password: freshPassword() }, { as: strong }).has(200, { id: user.id })
  },
)

mfa.case(
  'guard.enroll',
  'a further factor is enrolled at the second level only',
  { source: gotrue('mfa.go', 131) },
  async (t) => {
    const { user, strong } = await doubled(t)
    await enroll(t, await weakly(t, user), { friendly_name: 'another' }).is(
      ...refusal(403, 'insufficient_aal'),
    )
    await enroll(t, strong, { friendly_name: 'another' }).is(200)
  },
)

mfa.case(
  'unenroll',
  'a factor that is not verified is removed',
  { source: openapi(1115) },
  async (t) => {
    const user = await t.user()
    const { id } = await enrolled(t, user)
    await t.delete(`factors/${id}`, { as: user }).is(200, { id })
    await t.get('user', { as: user }).has(200, { factors: undefined })
  },
)

mfa.case(
  'unenroll.weak',
  'a verified factor is removed at the second level only',
  { source: 'https://supabase.com/docs/reference/javascript/auth-mfa-unenroll' },
  async (t) => {
    const { user, factor, strong } = await doubled(t)
    await t
      .delete(`factors/${factor.id}`, { as: await weakly(t, user) })
      .is(...refusal(422, 'insufficient_aal'))
    await t.delete(`factors/${factor.id}`, { as: strong }).is(200, { id: factor.id })
  },
)

mfa.case(
  'unenroll.level',
  'without its factor a session is of the first level again',
  { source: 'https://supabase.com/docs/reference/javascript/auth-mfa-unenroll' },
  async (t) => {
    const { factor, strong, refreshToken: refresh_token } = await doubled(t)
    await t.delete(`factors/${factor.id}`, { as: strong }).is(200)
    const response = await t
      .post('token?grant_type=refresh_token', { refresh_token })
      .has(200, { access_token: some.token })
    t.equal(
      claimsOf(response.field('access_token')),
      partly({ aal: 'aal1', amr: [partly({ method: 'password' })] }),
      null,
    )
  },
)
