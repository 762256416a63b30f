import { createHmac } from 'node:crypto'

import { group } from '../../case.ts'

const docs = 'https://docs.postgrest.org/en/stable/references/auth.html'
const errors = 'https://docs.postgrest.org/en/stable/references/errors.html'
const source = 'https://github.com/PostgREST/postgrest/blob/main/src/library/PostgREST/Error.hs'

export const jwt = group('rest.jwt', {
  title: 'Tokens',
  source: `${docs}#jwt-authentication`,
  needs: ['sql'],
})

const now = () => Math.floor(Date.now() / 1000)
const path = 'rpc/conformance_request'

/** Claims beside the role, and whether they are accepted. */
const accepted: [name: string, promise: string, claims: () => object, anchor: string][] = [
  [
    'valid',
    'a token with a role of the database is accepted',
    () => ({ exp: now() + 600 }),
    'jwt-authentication',
  ],
  [
    'skew.expired',
    'a token that has expired a moment ago is accepted',
    () => ({ exp: now() - 10 }),
    'time-based-claims-validation',
  ],
  [
    'skew.not-before',
    'a token that begins in a moment is accepted',
    () => ({ nbf: now() + 15 }),
    'time-based-claims-validation',
  ],
  [
    'skew.issued',
    'a token that is issued in a moment is accepted',
    () => ({ iat: now() + 15 }),
    'time-based-claims-validation',
  ],
  ['audience.none', 'a token for no audience is accepted', () => ({ aud: [] }), 'aud-validation'],
]

for (const [name, promise, claims, anchor] of accepted) {
  jwt.case(name, promise, { source: `${docs}#${anchor}`, needs: ['jwt'] }, (t) =>
    t
      .get(path, { as: { token: t.sign({ role: 'authenticated', ...claims() }) } })
      .has(200, { role: 'authenticated' }),
  )
}

/** Claims that are refused with PGRST303. */
const refusals: [name: string, promise: string, claims: () => object, message: string][] = [
  ['expired', 'a token that has expired is refused', () => ({ exp: now() - 90 }), 'JWT expired'],
  [
    'not-before',
    'a token that begins later is refused',
    () => ({ nbf: now() + 900 }),
    'JWT not yet valid',
  ],
  [
    'issued',
    'a token that is issued later is refused',
    () => ({ iat: now() + 900 }),
    'JWT issued at future',
  ],
  [
    'expiry-type',
    'an expiry that is no number is refused',
    () => ({ exp: 'soon' }),
    "The JWT 'exp' claim must be a number",
  ],
  [
    'audience-type',
    'an audience that is no text is refused',
    () => ({ aud: 1 }),
    "The JWT 'aud' claim must be a string or an array of strings",
  ],
]

for (const [name, promise, claims, message] of refusals) {
  jwt.case(name, promise, { source: `${errors}#pgrst303`, needs: ['jwt'] }, (t) =>
    t
      .get(path, { as: { token: t.sign({ role: 'authenticated', ...claims() }) } })
      .has(401, { code: 'PGRST303', message })
      .header(
        'www-authenticate',
        `Bearer error="invalid_token", error_description=${JSON.stringify(message)}`,
      ),
  )
}

/** Returns a token of these parts with a signature of another secret. */
function forged(header: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const text = `${part(header)}.${part({ role: 'service_role', exp: now() + 600 })}`
  const seal = createHmac('sha256', 'another secret, long enough').update(text)
  return `${text}.${seal.digest('base64url')}`
}

/** Tokens that are refused with PGRST301. */
const invalid: [name: string, promise: string, token: () => string][] = [
  [
    'signature',
    'a token with another signature is refused',
    () => forged({ alg: 'HS256', typ: 'JWT' }),
  ],
  [
    'algorithm.none',
    'a token that wants no signature is refused',
    () => forged({ alg: 'none', typ: 'JWT' }).replace(/[^.]*$/, ''),
  ],
  ['malformed', 'a token that cannot be read is refused', () => 'no.token.atall'],
  [
    'key',
    'a token with the name of an unknown key is refused',
    () => forged({ alg: 'HS256', kid: 'nobody' }),
  ],
]

for (const [name, promise, token] of invalid) {
  jwt.case(name, promise, { source: `${errors}#pgrst301` }, (t) =>
    t
      .get(path, { as: { token: token() } })
      .has(401, { code: 'PGRST301' })
      .header('www-authenticate', /^Bearer error="invalid_token"/),
  )
}

jwt.case('parts', 'a token without its three parts is refused', { source }, (t) =>
  t
    .get(path, { as: { token: 'two.parts' } })
    .has(401, { code: 'PGRST301', message: 'Expected 3 parts in JWT; got 2' }),
)

jwt.case(
  'role.unknown',
  'a role that is not there is refused',
  { source: 'https://github.com/PostgREST/postgrest/blob/main/CHANGELOG.md', needs: ['jwt'] },
  (t) =>
    t
      .get(path, { as: { token: t.sign({ role: 'conformance_nobody' }) } })
      .has(401, { code: '22023' }),
)

jwt.case(
  'role.none',
  'a token without a role is one of the anonymous role',
  { source: `${docs}#jwt-authentication`, needs: ['jwt'] },
  (t) => t.get(path, { as: { token: t.sign({ sub: 'x' }) } }).has(200, { role: 'anon' }),
)

jwt.case(
  'bearer.lower-case',
  'the word Bearer may be written in lower case',
  { source: `${docs}#bearer-authentication`, needs: ['jwt'] },
  (t) => {
    const headers = { authorization: `bearer ${t.sign({ role: 'authenticated' })}` }
    return t.get(path, { headers }).has(200, { role: 'authenticated' })
  },
)
