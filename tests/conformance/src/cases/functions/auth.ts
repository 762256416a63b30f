import { group } from '../../case.ts'
import type { Context } from '../../context.ts'

const guides = 'https://supabase.com/docs/guides/functions'
const check = `${guides}/auth-headers#the-verify_jwt-platform-check`
const codes = `${guides}/error-codes`

export const auth = group('functions.auth', {
  title: 'Verification of tokens',
  source: check,
  needs: ['functions'],
})

auth.case(
  'missing',
  'without a token the error is UNAUTHORIZED_NO_AUTH_HEADER',
  { source: `${codes}#unauthorized_no_auth_header` },
  (t) =>
    t
      .post('conformance-echo', {}, { as: 'nobody' })
      .is(401)
      .header('sb-error-code', 'UNAUTHORIZED_NO_AUTH_HEADER'),
)

/** A header `Authorization` that is refused, and the code of the refusal. */
const refusals: Record<string, [string, (t: Context) => string]> = {
  format: ['UNAUTHORIZED_INVALID_JWT_FORMAT', () => 'Bearer nonsense'],
  scheme: ['UNAUTHORIZED_INVALID_JWT_FORMAT', () => 'Basic dXNlcjpwYXNz'],
  signature: ['UNAUTHORIZED_LEGACY_JWT', () => `Bearer ${forged('HS256')}`],
  asymmetric: ['UNAUTHORIZED_ASYMMETRIC_JWT', () => `Bearer ${forged('ES256')}`],
  algorithm: ['UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM', () => `Bearer ${forged('PS384')}`],
  none: ['UNAUTHORIZED_UNSUPPORTED_TOKEN_ALGORITHM', () => `Bearer ${forged('none')}`],
}
for (const [name, [code, authorization]] of Object.entries(refusals)) {
  auth.case(
    `refused.${name}`,
    'a token that is not valid is refused, and what is wrong with it is said',
    { source: `${codes}#${code.toLowerCase()}` },
    (t) =>
      t
        .post(
          'conformance-echo',
          {},
          {
            as: 'nobody',
            headers: { apikey: t.target.anonKey, authorization: authorization(t) },
          },
        )
        .is(401)
        .header('sb-error-code', code),
  )
}

auth.case(
  'refused.expired',
  'a token that has expired is refused',
  { source: `${codes}#unauthorized_legacy_jwt`, needs: ['jwt'] },
  (t) =>
    t
      .get('conformance-echo', { as: { token: t.sign({ role: 'anon', exp: 1_700_000_000 }) } })
      .is(401)
      .header('sb-error-code', 'UNAUTHORIZED_LEGACY_JWT'),
)

auth.case('service', 'the service key calls a function', { needs: ['service'] }, (t) =>
  t
    .get('conformance-echo/service', { as: 'service' })
    .has(200, { path: '/conformance-echo/service' }),
)

auth.case('user', 'a user’s token calls a function', { needs: ['service'] }, async (t) => {
  const user = await t.user()
  await t.get('conformance-echo/user', { as: user }).has(200, { path: '/conformance-echo/user' })
})

export const open = group('functions.open', {
  title: 'Functions without verification of tokens',
  source: `${guides}/function-configuration#skipping-authorization-checks`,
  needs: ['functions'],
  probe: async (t) => {
    t.present(await t.get('conformance-open', { as: 'nobody' }))
  },
})

open.case('nobody', 'a function without verification is called without a token and a key', (t) =>
  t.get('conformance-open', { as: 'nobody' }).is(200, { open: true, authorization: null }),
)

open.case('any-token', 'a token is handed on to it, whatever it is', (t) =>
  t
    .get('conformance-open', { as: 'nobody', headers: { authorization: 'Bearer nonsense' } })
    .is(200, { open: true, authorization: 'Bearer nonsense' }),
)

/** Returns a token that nobody has signed. */
function forged(alg: string): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 3600
  const head = part({ alg, typ: 'JWT', kid: 'conformance' })
  return `${head}.${part({ role: 'anon', exp })}.${'A'.repeat(86)}`
}
