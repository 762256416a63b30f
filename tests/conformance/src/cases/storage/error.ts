import { group } from '../../case.ts'

import { bucketOf, problem, service } from './setup.ts'

const jwt = `${service}/http/plugins/jwt.ts`

export const error = group('storage.error', {
  title: 'Refused requests',
  source: 'https://supabase.com/docs/guides/storage/debugging/error-codes',
})

error.case(
  'token.none',
  'what needs a token is refused without one',
  { source: `${service}/http/schemas/auth.ts` },
  async (t) => {
    const response = await t.get('bucket', { as: 'nobody' })
    if (response.status === 401) {
      // A gateway in front of the service asks for a key first.
      response.is(401)
      return
    }
    const message = "headers must have required property 'authorization'"
    response.is(400, problem(400, 'Error', message, 'InvalidRequest'))
  },
)

error.case('token.malformed', 'what is no token is refused', { source: jwt }, (t) =>
  t
    .get('bucket', { as: { token: 'none' } })
    .is(400, problem(403, 'Unauthorized', 'Invalid Compact JWS', 'AccessDenied')),
)

error.case(
  'token.forged',
  'a token that was tampered with is refused',
  { source: jwt, needs: ['service'] },
  async (t) => {
    const { token } = await t.user()
    const [header = '', claims = '', seal = ''] = token.split('.')
    const forged = `${header}.${claims}.${seal.startsWith('A') ? 'B' : 'A'}${seal.slice(1)}`
    await t
      .get('bucket', { as: { token: forged } })
      .is(400, problem(403, 'Unauthorized', 'signature verification failed', 'AccessDenied'))
  },
)

error.case(
  'token.expired',
  'a token whose time is over is refused',
  { source: jwt, needs: ['jwt'] },
  async (t) => {
    const token = t.sign({ role: 'anon', exp: Math.floor(Date.now() / 1000) - 3600 })
    const message = '"exp" claim timestamp check failed'
    await t
      .get('bucket', { as: { token } })
      .is(400, problem(403, 'Unauthorized', message, 'AccessDenied'))
  },
)

error.case(
  'token.public',
  'a token that is no good does not hinder a public download',
  { source: `${service}/http/routes/object/getObject.ts`, needs: ['service'] },
  async (t) => {
    const bucket = await bucketOf(t, ['a'], { public: true })
    await t.get(`object/${bucket}/a`, { as: { token: 'none' } }).text(200, 'conformance')
  },
)

error.case(
  'token.scheme',
  'the scheme Bearer is written in any case',
  { source: jwt, needs: ['service', 'sql'] },
  async (t) => {
    const bucket = await t.bucket()
    const { token } = await t.user()
    const headers = { apikey: t.target.anonKey, authorization: `bearer ${token}` }
    await t.get(`bucket/${bucket}`, { as: 'nobody', headers }).has(200, { id: bucket })
  },
)

const json = { 'content-type': 'application/json' }

error.case(
  'json.broken',
  'a body that is no JSON is refused',
  { source: `${service}/http/error-handler.ts`, needs: ['service'] },
  (t) =>
    t
      .post('bucket', '{"name"', { as: 'service', headers: json })
      .has(400, { statusCode: '400', code: 'InvalidRequest', message: /JSON/ }),
)

error.case(
  'json.empty',
  'a body of JSON that is empty is refused',
  { source: `${service}/http/error-handler.ts`, needs: ['service'] },
  (t) =>
    t.post('bucket', '', { as: 'service', headers: json }).has(400, {
      ...{ statusCode: '400', code: 'InvalidRequest' },
      message: "Body cannot be empty when content-type is set to 'application/json'",
    }),
)

error.case(
  'json.coerced',
  'a number may be written as text, and unknown members are ignored',
  { source: `${service}/http/routes/object/getSignedURL.ts`, needs: ['service'] },
  async (t) => {
    const bucket = await bucketOf(t, ['a'])
    const body = { expiresIn: '60', unknown: true }
    await t
      .post(`object/sign/${bucket}/a`, body, { as: 'service' })
      .is(200, { signedURL: /\?token=/ })
  },
)

error.case(
  'route',
  'an unknown route is not found',
  { source: `${service}/http/not-found-handler.ts` },
  (t) =>
    t
      .get('bucket/a/b/c')
      .is(404, problem(404, 'Not Found', 'Route GET:/bucket/a/b/c not found', 'InvalidRequest')),
)

error.case(
  'type',
  'an error is JSON',
  { source: `${service}/http/error-handler.ts`, needs: ['service'] },
  async (t) => {
    await t
      .get(`object/${await t.bucket()}/none`, { as: 'service' })
      .has(400, { code: 'NoSuchKey' })
      .header('content-type', /^application\/json/)
  },
)

export const health = group('storage.health', {
  title: 'Health',
  source: `${service}/http/routes/health/healthcheck.ts`,
})

health.case(
  'status',
  'the service says that it is there, without a key',
  { source: 'https://github.com/supabase/storage/blob/master/src/app.ts' },
  (t) => t.get('status', { as: 'nobody' }).empty(200),
)
