import { randomUUID } from 'node:crypto'

import { group } from '../../case.ts'
import { gotrue, refusal } from '../../gotrue.ts'
import { some } from '../../match.ts'

const codes = 'https://supabase.com/docs/guides/auth/debugging/error-codes'
const version = 'x-supabase-api-version'
const signIn = 'token?grant_type=password'

export const errors = group('auth.error', {
  title: 'The form of refusals',
  source: codes,
})

errors.case('plain', 'a refusal has the status, a code of its own and a text', (t) =>
  t
    .post(signIn, { email: 'a@example.com', phone: '99123', password: 'x' })
    .is(400, { code: 400, error_code: 'validation_failed', msg: some.string }),
)

errors.case(
  'versioned',
  'from API version 2024-01-01 on the code is a text, and the version comes back',
  { source: gotrue('errors.go', 76) },
  (t) =>
    t
      .post(
        signIn,
        { email: 'a@example.com', phone: '99123', password: 'x' },
        { headers: { [version]: '2024-01-01' } },
      )
      .is(400, { code: 'validation_failed', message: some.string })
      .header(version, '2024-01-01'),
)

errors.case(
  'versioned.later',
  'a later date means the newest version there is',
  { source: gotrue('apiversions.go', 16) },
  (t) =>
    t
      .post(signIn, {}, { headers: { [version]: '2038-01-19' } })
      .is(400, { code: 'validation_failed', message: some.string })
      .header(version, '2024-01-01'),
)

for (const [name, value] of [
  ['earlier', '2023-12-31'],
  ['malformed', 'newest'],
] as const) {
  errors.case(
    `versioned.${name}`,
    `an ${name === 'earlier' ? 'earlier date' : 'unreadable version'} gives the first form`,
    { source: gotrue('apiversions.go', 16) },
    (t) =>
      t
        .post(signIn, {}, { headers: { [version]: value } })
        .is(...refusal(400, 'validation_failed'))
        .header(version, null),
  )
}

errors.case('header', 'the code is also in a header', { source: gotrue('errors.go', 163) }, (t) =>
  t.post(signIn, {}).is(400).header('x-sb-error-code', 'validation_failed'),
)

const unparsable: [string, string, unknown][] = [
  ['json.malformed', 'a body that is no JSON is refused with bad_json', '{"email":'],
  ['json.array', 'an array in place of an object is refused with bad_json', '[]'],
  ['json.empty', 'an empty body is refused with bad_json', ''],
  ['json.type', 'a member of another type is refused with bad_json', { email: 7, password: 'x' }],
]
for (const [name, promise, body] of unparsable) {
  errors.case(name, promise, { source: gotrue('helpers.go', 84) }, (t) =>
    t.post(signIn, body).is(...refusal(400, 'bad_json')),
  )
}

errors.case(
  'json.content-type',
  'a body is read as JSON whatever its type is said to be',
  { source: gotrue('helpers.go', 84) },
  (t) =>
    t
      .post(signIn, '{"email":"nobody@example.com","password":"not the password"}', {
        headers: { 'content-type': 'text/plain' },
      })
      .is(...refusal(400, 'invalid_credentials')),
)

errors.case(
  'too-large',
  'a body of more than a megabyte is refused with 413',
  { source: gotrue('helpers.go', 88) },
  (t) =>
    t
      .post(signIn, { email: 'a@example.com', password: 'x'.repeat(1_100_000) })
      .is(...refusal(413, 'request_entity_too_large')),
)

errors.case(
  'oauth',
  'grants of OpenID Connect are refused in the form of OAuth',
  {
    source: gotrue('token_oidc.go', 214),
  },
  (t) =>
    t
      .post('token?grant_type=id_token', { provider: 'google' })
      .is(400, { error: 'invalid request', error_description: some.string }),
)

errors.case('not-found', 'an unknown path is not found', { source: gotrue('api.go', 174) }, (t) =>
  t.get('no-such-endpoint').is(404),
)

errors.case('method', 'another method is not allowed', { source: gotrue('api.go', 174) }, (t) =>
  t.get('signup').is(405),
)

export const cors = group('auth.cors', {
  title: 'Browsers of other origins',
  source: gotrue('api.go', 495),
})

const origin = 'https://app.example.com'

for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
  cors.case(`preflight.${method.toLowerCase()}`, `pages may send ${method}`, async (t) => {
    const response = await t.http('OPTIONS', 'user', {
      as: 'nobody',
      headers: { origin, 'access-control-request-method': method },
    })
    // The status is 200 or 204; both are a success to a browser.
    t.equal(response.exchange.status < 300, true)
    response.header('access-control-allow-methods', new RegExp(method))
  })
}

const headers = ['authorization', 'apikey', 'content-type', 'x-client-info', version]
for (const name of headers) {
  cors.case(`header.${name}`, `pages may send the header ${name}`, async (t) => {
    const response = await t.http('OPTIONS', 'user', {
      as: 'nobody',
      headers: {
        origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': name,
      },
    })
    response
      .header('access-control-allow-origin', /^(\*|https:\/\/app\.example\.com)$/)
      .header('access-control-allow-headers', new RegExp(name, 'i'))
  })
}

cors.case('exposed', 'pages can read the count, the links and the version', (t) =>
  t
    .get('settings', { headers: { origin } })
    .is(200)
    .header('access-control-allow-origin', /^(\*|https:\/\/app\.example\.com)$/)
    .header(
      'access-control-expose-headers',
      /(?=.*x-total-count)(?=.*link)(?=.*x-supabase-api-version)/i,
    ),
)

export const bearer = group('auth.bearer', {
  title: 'Whose token it is',
  source: codes,
  needs: ['service'],
})

/** Returns a request with the key of a project and without a token, or with another header in its place. */
const keyed = (key: string, authorization?: string) => ({
  as: 'nobody' as const,
  headers: { apikey: key, ...(authorization === undefined ? {} : { authorization }) },
})

bearer.case('none', 'without a token the response is 401', (t) =>
  t.get('user', keyed(t.target.anonKey)).is(...refusal(401, 'no_authorization')),
)

bearer.case('scheme', 'another scheme is as none', { source: gotrue('auth.go', 73) }, async (t) => {
  const { token } = await t.user()
  await t
    .get('user', keyed(t.target.anonKey, `Basic ${token}`))
    .is(...refusal(401, 'no_authorization'))
})

bearer.case(
  'scheme.case',
  'the scheme may be written in any case',
  { source: gotrue('auth.go', 73) },
  async (t) => {
    const { token, id } = await t.user()
    await t.get('user', keyed(t.target.anonKey, `bearer ${token}`)).has(200, { id })
  },
)

bearer.case('malformed', 'a token that is none is refused with bad_jwt', (t) =>
  t.get('user', { as: { token: 'no.token.atall' } }).is(...refusal(403, 'bad_jwt')),
)

bearer.case('signature', 'a token that was changed is refused with bad_jwt', async (t) => {
  const { token } = await t.user()
  const [header, claims = '', seal] = token.split('.')
  const changed = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object
  const other = Buffer.from(JSON.stringify({ ...changed, role: 'service_role' }))
  const forged = [header, other.toString('base64url'), seal].join('.')
  await t.get('user', { as: { token: forged } }).is(...refusal(403, 'bad_jwt'))
})

bearer.case('algorithm', 'a token without a signature is refused with bad_jwt', async (t) => {
  const { token } = await t.user()
  const header = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
  const bare = `${header}.${token.split('.')[1] ?? ''}.`
  await t.get('user', { as: { token: bare } }).is(...refusal(403, 'bad_jwt'))
})

const hour = () => Math.floor(Date.now() / 1000) + 3600
const common = { aud: 'authenticated', role: 'authenticated' }

bearer.case(
  'expired',
  'a token after its time is refused with bad_jwt',
  { needs: ['jwt'] },
  (t) => {
    const token = t.sign({ ...common, sub: randomUUID(), exp: hour() - 7200 })
    return t.get('user', { as: { token } }).is(...refusal(403, 'bad_jwt'))
  },
)

bearer.case(
  'subject.none',
  'a token of nobody in particular is refused with bad_jwt',
  { needs: ['jwt'], source: gotrue('auth.go', 126) },
  (t) =>
    t
      .get('user', { as: { token: t.sign({ ...common, exp: hour() }) } })
      .is(...refusal(403, 'bad_jwt')),
)

bearer.case(
  'subject.malformed',
  'a subject that is no UUID is refused with bad_jwt',
  { needs: ['jwt'], source: gotrue('auth.go', 134) },
  (t) =>
    t
      .get('user', { as: { token: t.sign({ ...common, sub: 'seven', exp: hour() }) } })
      .is(...refusal(400, 'bad_jwt')),
)

bearer.case(
  'user.gone',
  'the token of a user who is gone is refused with user_not_found',
  async (t) => {
    const user = await t.user()
    await t.delete(`admin/users/${user.id}`, { as: 'service' }).is(200)
    await t.get('user', { as: user }).is(...refusal(403, 'user_not_found'))
  },
)

bearer.case(
  'user.banned',
  'the token of a user who is banned is refused with user_banned',
  { source: gotrue('auth.go', 36) },
  async (t) => {
    const user = await t.user()
    await t.prepare('PUT', `/auth/v1/admin/users/${user.id}`, { ban_duration: '1h' })
    await t.get('user', { as: user }).is(...refusal(403, 'user_banned'))
  },
)

bearer.case('session.gone', 'the token of a session that was ended is refused', async (t) => {
  const user = await t.user()
  await t.post('logout', undefined, { as: user }).is(204)
  await t.get('user', { as: user }).is(...refusal(403, 'session_not_found'))
})

bearer.case(
  'session.malformed',
  'a session that is no UUID is refused with bad_jwt',
  { needs: ['jwt'], source: gotrue('auth.go', 148) },
  async (t) => {
    const { id } = await t.user()
    const token = t.sign({ ...common, sub: id, session_id: 'seven', exp: hour() })
    await t.get('user', { as: { token } }).is(...refusal(403, 'bad_jwt'))
  },
)

bearer.case(
  'session.none',
  'a token that names no session is accepted',
  { needs: ['jwt'], source: gotrue('auth.go', 146) },
  async (t) => {
    const { id } = await t.user()
    const token = t.sign({ ...common, sub: id, exp: hour() })
    await t.get('user', { as: { token } }).has(200, { id })
  },
)

bearer.case(
  'audience',
  'a token for another audience is not accepted',
  { source: gotrue('user.go', 71) },
  async (t) => {
    const user = await t.user()
    await t
      .get('user', { as: user, headers: { 'x-jwt-aud': 'elsewhere' } })
      .is(...refusal(400, 'validation_failed'))
  },
)

bearer.case('admin.none', 'without a token nobody is an administrator', (t) =>
  t.get('admin/users', keyed(t.target.anonKey)).is(...refusal(401, 'no_authorization')),
)

bearer.case('admin.user', 'a user is no administrator', async (t) => {
  const user = await t.user()
  await t.get('admin/users', { as: user }).is(...refusal(403, 'not_admin'))
})

bearer.case(
  'admin.anon',
  'the anonymous role is no administrator',
  { needs: ['jwt'], source: gotrue('auth.go', 67) },
  (t) =>
    t
      .get('admin/users', { as: { token: t.sign({ role: 'anon', exp: hour() }) } })
      .is(...refusal(403, 'not_admin')),
)

bearer.case(
  'admin.malformed',
  'an administrator needs a valid token',
  { source: gotrue('middleware.go', 187) },
  (t) => t.get('admin/users', { as: { token: 'no.token.atall' } }).is(...refusal(403, 'bad_jwt')),
)

bearer.case(
  'admin.subject',
  'an administrator need not be a user',
  { needs: ['jwt'], source: gotrue('auth.go', 53) },
  (t) =>
    t
      .get('admin/users?per_page=1', {
        as: { token: t.sign({ role: 'service_role', exp: hour() }) },
      })
      .has(200, { users: some.array, aud: some.string }),
)
