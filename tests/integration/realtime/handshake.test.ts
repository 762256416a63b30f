/** How a socket begins, and what refuses it. */
import { afterEach, describe, expect, inject, test, vi } from 'vitest'

import { inSeconds, isOwn, key, signed, token, Wires } from './stage.ts'
import { handshakeRefusal } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const JSON_TYPE = 'application/json; charset=utf-8'

const isRefusal = (error: string) => ({ status: 401, type: JSON_TYPE, body: { error } })

test.for(['rubbish', 'a.b.c', 'eyJhbGciOiJIUzI1NiJ9.e30', '..'])(
  'the key %j is no token',
  async (key) => {
    const refusal = isRefusal('The token provided is not a valid JWT')
    expect(await handshakeRefusal({ key, vsn: '2.0.0' })).toEqual(refusal)
  },
)

test('a key that the project does not have is refused', async () => {
  const key = 'sb_publishable_AAAAAAAAAAAAAAAAAAAAAA_AAAAAAAA'
  expect((await handshakeRefusal({ key, vsn: '2.0.0' })).status).toBe(401)
})

test('a request without an upgrade is refused', async () => {
  const { url, anonKey } = inject('access')
  const response = await fetch(`${url}/realtime/v1/websocket?apikey=${anonKey}&vsn=2.0.0`)
  expect(response.status).toBeGreaterThanOrEqual(400)
  expect(response.status).toBeLessThan(500)
})

describe.skipIf(!isOwn)('the key of a socket', () => {
  const accepted = { role: 'anon', exp: inSeconds(3600) }
  const secret = () => key('JWT_SECRET')

  test.for(['SUPABASE_PUBLISHABLE_KEY', 'SUPABASE_SECRET_KEY', 'ANON_KEY', 'SERVICE_ROLE_KEY'])(
    'may be %s',
    async (name) => {
      const wire = await wires.add({ key: await key(name) })
      expect(await wire.join('keys')).toMatchObject({ status: 'ok' })
      const other = await wires.add({ key: 'rubbish', headers: { 'x-api-key': await key(name) } })
      await other.flush()
    },
  )

  test.for<[string, object, Record<string, unknown>?]>([
    ['a user’s token', { role: 'authenticated', sub: 'a' }],
    ['a token with an expiry that is no whole number', { exp: inSeconds(3600) + 0.5 }],
    ['a token for another audience', { aud: 'somewhere' }],
    ['a token of another issuer', { iss: 'somebody' }],
    ['a token that is good from tomorrow on', { nbf: inSeconds(86_400) }],
    ['a token signed with HS384', {}, { alg: 'HS384' }],
    ['a token signed with HS512', {}, { alg: 'HS512' }],
    [
      'a token that names an unknown key, but is signed with the secret',
      {},
      { alg: 'HS256', kid: 'nobody' },
    ],
  ])('may be %s', async ([, claims, header]) => {
    await (
      await wires.add({ key: signed({ ...accepted, ...claims }, await secret(), header) })
    ).flush()
  })

  test('may have white space in it, and escapes', async () => {
    const key = await token()
    await (await wires.add({ key: `${key.slice(0, 30)}\n\t${key.slice(30)}` })).flush()
    await (await wires.add({ key: key.replaceAll('.', '%2E') })).flush()
  })

  test('may have spaces in it, which a query writes as a plus', async () => {
    const key = await token()
    await (await wires.add({ key: ` ${key.slice(0, 30)}  ${key.slice(30)} ` })).flush()
  })

  test.for<[string, object, string]>([
    ['has expired', { exp: inSeconds(-10) }, 'Token has expired'],
    ['has no role', { role: undefined }, 'Fields `role` and `exp` are required in JWT'],
    ['has no expiry', { exp: undefined }, 'Fields `role` and `exp` are required in JWT'],
  ])('is refused if it %s', async ([, claims, error]) => {
    const key = signed({ ...accepted, ...claims }, await secret())
    expect(await handshakeRefusal({ key, vsn: '2.0.0' })).toEqual(isRefusal(error))
    expect(await handshakeRefusal({ headers: { 'x-api-key': key } })).toEqual(isRefusal(error))
  })

  test.for<[string, object]>([
    ['the time of issue', { iat: 'yesterday' }],
    ['the expiry', { exp: 'tomorrow' }],
  ])('is refused if %s is no number', async ([, claims]) => {
    const key = signed({ ...accepted, ...claims }, await secret())
    expect(await handshakeRefusal({ key })).toMatchObject({ status: 401, type: JSON_TYPE })
  })

  test('is refused if somebody else signed it', async () => {
    const key = signed(accepted, 'another secret that is long enough for everybody')
    expect(await handshakeRefusal({ key })).toEqual(isRefusal('Failed to validate JWT signature'))
    const [head = '', claims = ''] = (await token()).split('.')
    const forged = `${head}.${claims}.${Buffer.alloc(32).toString('base64url')}`
    expect(await handshakeRefusal({ key: forged })).toEqual(
      isRefusal('Failed to validate JWT signature'),
    )
  })

  test('is refused if nobody signed it, or no key is known that could have', async () => {
    const text = 'check your JWT secret or JWKS configuration'
    for (const alg of ['none', 'XX256']) {
      const refusal = await handshakeRefusal({ key: signed(accepted, '', { alg }) })
      expect(refusal).toEqual(isRefusal(`Failed to generate JWT signer, ${text}`))
    }
    const key = signed(accepted, '', { alg: 'RS256', kid: 'x' })
    const refusal = isRefusal(`Failed to generate JWT signer for key ID (kid) "x", ${text}`)
    expect(await handshakeRefusal({ key: `${key}AAAA` })).toEqual(refusal)
  })

  test('may expire while the socket is open', async () => {
    const exp = inSeconds(3)
    const wire = await wires.add({ key: await token({ exp }) })
    await vi.waitUntil(() => Date.now() / 1000 > exp + 1, { timeout: 20_000 })
    await wire.flush()
    const good = { token: await token() }
    expect(await wire.join('later', {}, good)).toMatchObject({ status: 'ok' })
  })
})
