/** A server that asks more of tokens and channels, and that ends. */
import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

import { afterEach, beforeAll, describe, expect, test } from 'vitest'

import type { Server } from '../../support/server.mjs'
import { start } from './server.ts'
import { inSeconds, isOwn, moment, signed, unique, Wires } from './stage.ts'
import { change, changes, subscribed } from './watch.ts'
import { handshakeRefusal } from './wire.ts'

const wires = new Wires()
afterEach(() => wires.close())

const joined = { status: 'ok', response: { postgres_changes: [] } }

/** The algorithms of keys in pairs, and what Node.js calls the hash. */
const PAIRS = {
  RS256: { ...generateKeyPairSync('rsa', { modulusLength: 2048 }), hash: 'sha256' },
  RS512: { ...generateKeyPairSync('rsa', { modulusLength: 2048 }), hash: 'sha512' },
  ES256: { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }), hash: 'sha256' },
  ES384: { ...generateKeyPairSync('ec', { namedCurve: 'P-384' }), hash: 'sha384' },
  EdDSA: { ...generateKeyPairSync('ed25519'), hash: null },
} as const

const shared = randomBytes(32)

const keys = [
  ...Object.entries(PAIRS).map(([alg, { publicKey }]) => ({
    ...publicKey.export({ format: 'jwk' }),
    alg,
    kid: alg,
    use: 'sig',
  })),
  { kty: 'oct', k: shared.toString('base64url'), alg: 'HS256', kid: 'shared' },
]

/** Returns a token signed by a key of a pair. */
function signedBy(key: KeyObject, hash: string | null, header: object, claims: object): string {
  const text = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = sign(hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' })
  return `${text}.${signature.toString('base64url')}`
}

describe.skipIf(!isOwn)('a strict server', () => {
  let own: Server
  const secret = 'the secret that the server of these tests shares'
  beforeAll(async () => {
    own = await start(
      {
        JWT_SECRET: secret,
        JWT_CLAIM_VALIDATORS: '{"iss": "club", "level": 2}',
        PGRST_JWT_SECRET: JSON.stringify({ keys }),
        NO_CHANNEL_TIMEOUT_IN_MS: '1500',
      },
      '[basalt.realtime]\nprivate_only = true\n',
    )
  })

  const claims = { role: 'service_role', iss: 'club', level: 2, exp: inSeconds(3600) }
  const socketOptions = (more: object = {}) => ({
    url: own.access.url,
    key: signed({ ...claims, ...more }, secret),
  })

  test('wants tokens with the claims that it asks for', async () => {
    await (await wires.add(socketOptions())).flush()
    for (const more of [{ iss: 'supabase' }, { iss: undefined }, { level: 3 }, { level: '2' }])
      expect(await handshakeRefusal({ ...socketOptions(more), vsn: '2.0.0' })).toMatchObject({
        status: 401,
      })
    const wire = await wires.add(socketOptions())
    const token = signed({ ...claims, iss: 'nobody' }, secret)
    expect(await wire.join('room', { private: true }, { token })).toMatchObject({ status: 'error' })
  })

  test.for(Object.entries(PAIRS))(
    'knows keys of pairs: %s',
    async ([alg, { privateKey, hash }]) => {
      const header = { alg, kid: alg }
      const good = signedBy(privateKey, hash, header, claims)
      await (await wires.add({ ...socketOptions(), key: good })).flush()
      const other = Object.entries(PAIRS).find(([name]) => name !== alg)
      const forged = signedBy(privateKey, hash, { alg, kid: other?.[0] }, claims)
      expect(await handshakeRefusal({ ...socketOptions(), key: forged })).toMatchObject({
        status: 401,
      })
      const unknown = signedBy(privateKey, hash, { alg, kid: 'nobody' }, claims)
      expect(await handshakeRefusal({ ...socketOptions(), key: unknown })).toMatchObject({
        status: 401,
        body: {
          error:
            'Failed to generate JWT signer for key ID (kid) "nobody", check your JWT secret or JWKS configuration',
        },
      })
    },
  )

  test('knows an Edwards curve by its own name, too', async () => {
    const { privateKey, hash } = PAIRS.EdDSA
    const key = signedBy(privateKey, hash, { alg: 'Ed25519', kid: 'EdDSA' }, claims)
    await (await wires.add({ ...socketOptions(), key })).flush()
  })

  test('knows a shared key by its id', async () => {
    const header = { alg: 'HS256', kid: 'shared' }
    const key = signed(claims, shared as unknown as string, header)
    await (await wires.add({ ...socketOptions(), key })).flush()
    expect(
      await handshakeRefusal({ ...socketOptions(), key: signed(claims, secret, header) }),
    ).toMatchObject({
      status: 401,
      body: { error: 'Failed to validate JWT signature' },
    })
  })

  test('has private channels only', async () => {
    const wire = await wires.add(socketOptions())
    expect(await wire.join('room')).toEqual({
      status: 'error',
      response: { reason: 'PrivateOnly: This project only allows private channels' },
    })
    expect(await wire.join('room', { private: true })).toEqual(joined)
  })

  test('drops a socket that has left all of its channels', async () => {
    const [left, never] = [await wires.add(socketOptions()), await wires.add(socketOptions())]
    const [stays, second] = [await wires.add(socketOptions()), await wires.add(socketOptions())]
    for (const wire of [left, stays, second]) await wire.mustJoin('room', { private: true })
    for (const wire of [left, second]) await wire.reply(wire.send('realtime:room', 'phx_leave', {}))
    await second.mustJoin('other', { private: true })
    await left.closeCode()
    await moment(500)
    for (const wire of [never, stays, second]) await wire.flush()
  })

  test('tells of no operations that are not published', async () => {
    await own.psql(`
      create table public.quiet (id int primary key, n int);
      alter publication supabase_realtime add table public.quiet;
      alter publication supabase_realtime set (publish = 'update')`)
    const wire = await wires.add(socketOptions())
    const room = unique('room')
    const postgres_changes = [{ event: '*', schema: 'public', table: 'quiet' }]
    await wire.mustJoin(room, { private: true, postgres_changes })
    expect(await wire.system(room)).toEqual(subscribed(room))
    await own.psql(`insert into public.quiet values (1, 1)`)
    await own.psql(`update public.quiet set n = 2`)
    expect(await change(wire, room)).toMatchObject({ type: 'UPDATE', record: { n: 2 } })
    expect(changes(wire, room)).toEqual([])
  })

  test('tells those who are there when it ends', async () => {
    const wire = await wires.add(socketOptions())
    const old = await wires.add({ ...socketOptions(), vsn: '1.0.0' })
    for (const name of ['one', 'two'])
      for (const it of [wire, old]) await it.mustJoin(name, { private: true })
    own.process.kill('SIGINT')
    for (const name of ['one', 'two'])
      for (const it of [wire, old])
        expect(await it.system(name)).toEqual({
          extension: 'system',
          status: 'ok',
          message: 'Server requested disconnect',
        })
    expect(await wire.closeCode()).toBe(1012)
    expect(await old.closeCode()).toBe(1012)
  })
})
