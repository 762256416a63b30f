import { createHmac, createPublicKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import type { JsonWebKey } from 'node:crypto'

import { beforeAll, describe, expect, inject, test } from 'vitest'

import { describeOwnServer, newUser, there } from './users.ts'

interface Schema {
  $ref?: string
  allOf?: Schema[]
  properties?: Record<string, Schema>
}

interface Operation {
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Record<string, { schema: Schema }> }
}

interface Description {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

const BODIES = [
  '',
  '{',
  'null',
  '[]',
  '"text"',
  '{"email":}',
  '{"email":"\\ud800"}',
  '\u0000',
  '['.repeat(5000),
  JSON.stringify({ email: 'x'.repeat(500_000), data: { a: 'x'.repeat(400_000) } }),
]

const VALUES = [
  null,
  1e300,
  '',
  true,
  [],
  { a: '\u0000' },
  'a\u0000b',
  '\r\nX-Header: y',
  '\ud800',
  'x'.repeat(70_000),
]

const SEGMENTS = ['x', '%00', '%ff', 'a'.repeat(5000), '..%2f', randomUUID()]

const PARAMETERS = ['', '%00', '%ff', '-1', '9'.repeat(30), '%0d%0aX:y']

const at = (path: string) => `${inject('access').url}/auth/v1${path}`

/** Returns the status, and the body as JSON where it is some. */
async function ask(method: string, path: string, headers: HeadersInit, body?: string) {
  const init = body === undefined || method === 'GET' ? { method } : { method, body }
  const response = await fetch(at(path), { ...init, headers, redirect: 'manual' })
  const text = await response.text()
  return { status: response.status, text }
}

/** Returns the names of the fields that an operation's body has. */
function fields(description: Description, operation: Operation): string[] {
  const [content] = Object.values(operation.requestBody?.content ?? {})
  const names = (schema: Schema | undefined): string[] => {
    if (schema === undefined) return []
    if (schema.$ref !== undefined) {
      return names(description.components.schemas[schema.$ref.split('/').at(-1) ?? ''])
    }
    return [...Object.keys(schema.properties ?? {}), ...(schema.allOf ?? []).flatMap(names)]
  }
  return names(content?.schema)
}

/** Yields rubbish of every kind that fits the operation: paths and bodies. */
function* rubbish(
  description: Description,
  path: string,
  operation: Operation,
): Generator<[path: string, body: string]> {
  const place = (segment: string) => path.replaceAll(/\{[^}]+\}/g, segment)
  const usual = place(randomUUID())
  const bases =
    path === '/token'
      ? ['password', 'refresh_token', 'pkce', 'id_token', 'web3', 'rubbish'].map(
          (grant) => `${usual}?grant_type=${grant}`,
        )
      : [usual]
  for (const base of bases) {
    for (const body of BODIES) yield [base, body]
    const names = fields(description, operation)
    for (const value of VALUES) {
      yield [base, JSON.stringify(Object.fromEntries(names.map((name) => [name, value])))]
    }
  }
  if (path.includes('{')) for (const segment of SEGMENTS) yield [place(segment), '{}']
  for (const { name, in: where } of operation.parameters ?? []) {
    if (where !== 'query') continue
    for (const value of PARAMETERS) yield [`${usual}?${name}=${value}&${name}=x`, '{}']
  }
}

describeOwnServer('rubbish', () => {
  test('no endpoint fails on it', { timeout: 120_000 }, async () => {
    const { anonKey, serviceKey } = inject('access')
    const { text } = await ask('GET', '/openapi.json', { apikey: anonKey })
    const description = JSON.parse(text) as Description
    // What ends the session comes last.
    const paths = Object.entries(description.paths).toSorted(
      ([one], [other]) => Number(one === '/logout') - Number(other === '/logout'),
    )
    const { access_token: userToken } = (await newUser()).session
    let count = 0
    for (const [path, operations] of paths) {
      const token = path.startsWith('/admin') ? serviceKey : userToken
      const headers = { apikey: anonKey, Authorization: `Bearer ${token}` }
      for (const [method, operation] of Object.entries(operations)) {
        const responses = Array.from(
          rubbish(description, path, operation),
          async ([place, body]) => {
            const { status, text } = await ask(method.toUpperCase(), place, headers, body)
            const what = `${method} ${place.slice(0, 100)} ${body.slice(0, 100)}`
            expect(status, `${what}: ${text}`).toBeLessThan(500)
          },
        )
        count += (await Promise.all(responses)).length
      }
    }
    expect(count).toBeGreaterThan(500)
  })

  test.for([
    ['X-JWT-AUD', 'x'.repeat(300)],
    ['Authorization', 'Bearer a b'],
    ['Authorization', 'Basic eDp5'],
    ['Referer', 'http://[::'],
    ['redirect_to', 'javascript:alert(1)'],
    ['X-Forwarded-For', 'rubbish, 999.1.1.1'],
    ['X-Supabase-Api-Version', 'yesterday'],
    ['User-Agent', 'x'.repeat(10_000)],
    ['Content-Type', 'multipart/form-data; boundary=x'],
  ] as const)('a header %s is taken or refused', async ([name, value]) => {
    const headers = { apikey: inject('access').anonKey, [name]: value }
    for (const [method, path] of [
      ['POST', '/signup'],
      ['POST', '/otp'],
      ['GET', '/user'],
      ['GET', '/authorize?provider=keycloak'],
    ] as const) {
      const { status } = await ask(method, path, headers, '{"email":"a@b.example"}')
      expect(status, `${method} ${path}`).toBeLessThan(500)
    }
  })
})

describe('forged tokens', () => {
  let token: string[]
  let claims: Record<string, unknown>
  let key: JsonWebKey & { kid: string }

  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const hs256 = (secret: string | Buffer, more: object = {}) => {
    const signed = `${part({ alg: 'HS256', ...more })}.${part(claims)}`
    return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`
  }
  const es256 = (more: object) => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signed = `${part({ alg: 'ES256', ...more })}.${part(claims)}`
    const ecdsa = sign('sha256', Buffer.from(signed), {
      key: privateKey,
      dsaEncoding: 'ieee-p1363',
    })
    return `${signed}.${ecdsa.toString('base64url')}`
  }
  const pem = () => createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const der = () => createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'der' })

  beforeAll(async () => {
    const { session } = await newUser()
    token = session.access_token.split('.')
    claims = JSON.parse(Buffer.from(there(token[1]), 'base64url').toString()) as typeof claims
    const response = await fetch(at('/.well-known/jwks.json'))
    const { keys } = (await response.json()) as { keys: (typeof key)[] }
    key = there(keys[0])
  })

  test.for<[string, () => string]>([
    ['without a signature, by name', () => `${part({ alg: 'none' })}.${token[1] ?? ''}.`],
    ['without a signature', () => `${token[0] ?? ''}.${token[1] ?? ''}.`],
    ['that takes the public key for a secret', () => hs256(pem(), { kid: key.kid })],
    ['that does so without naming it', () => hs256(pem())],
    ['that does so in another form', () => hs256(der())],
    ['that does so as it is published', () => hs256(JSON.stringify(key), { kid: key.kid })],
    ['of an empty secret', () => hs256('')],
    ['of another project', () => es256({})],
    ['of another project under this one’s name', () => es256({ kid: key.kid })],
    ['that brings its key along', () => es256({ jwk: { kty: 'EC', crv: 'P-256' } })],
    [
      'of another algorithm',
      () => [part({ alg: 'RS256', kid: key.kid }), ...token.slice(1)].join('.'),
    ],
    ['that demands an extension', () => es256({ crit: ['b64'], kid: key.kid })],
    ['in two parts', () => token.slice(0, 2).join('.')],
  ])('one %s opens nothing', async ([, forge]) => {
    const forged = forge()
    const headers = { apikey: inject('access').anonKey, Authorization: `Bearer ${forged}` }
    for (const path of ['/user', '/admin/users']) {
      const { status, text } = await ask('GET', path, headers)
      expect([status, text]).toEqual([403, expect.stringContaining('bad_jwt')])
    }
  })
})
