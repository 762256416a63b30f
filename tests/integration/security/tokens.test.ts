import { createPublicKey, generateKeyPairSync, sign, type JsonWebKey } from 'node:crypto'

import { describe, expect, inject, test } from 'vitest'

import { newUser, there } from '../auth/users.ts'
import { service } from '../clients.ts'
import { inSeconds, isOwn, signed } from '../realtime/stage.ts'

const claims = { role: 'service_role', sub: crypto.randomUUID(), exp: inSeconds(3600) }

/** Returns one request that a good token of the service's role opens, for each service and for the gateway. */
function doors(token: string): Record<string, Promise<Response>> {
  const { url, anonKey: apikey } = inject('access')
  const headers = { apikey, authorization: `Bearer ${token}` }
  const json = { ...headers, 'content-type': 'application/json' }
  const message = { topic: 'forged', event: 'e', payload: {} }
  const body = JSON.stringify({ messages: [message] })
  return {
    key: fetch(`${url}/rest/v1/faqs?limit=1`, { headers: { apikey: token } }),
    rest: fetch(`${url}/rest/v1/faqs?limit=1`, { headers }),
    auth: fetch(`${url}/auth/v1/admin/users?per_page=1`, { headers }),
    storage: fetch(`${url}/storage/v1/bucket`, { headers }),
    functions: fetch(`${url}/functions/v1/echo`, { method: 'POST', headers, body: '{}' }),
    realtime: fetch(`${url}/realtime/v1/api/broadcast`, { method: 'POST', headers: json, body }),
  }
}

async function opened(token: string): Promise<string[]> {
  const responses = Object.entries(doors(token)).map(async ([name, response]) => {
    const { ok, body } = await response
    await body?.cancel()
    return ok ? [name] : []
  })
  return (await Promise.all(responses)).flat()
}

/** Returns the public key with which everybody can verify the tokens of users. */
async function published(): Promise<JsonWebKey & { kid: string; x: string }> {
  const response = await fetch(`${inject('access').url}/auth/v1/.well-known/jwks.json`)
  const { keys } = (await response.json()) as { keys: (JsonWebKey & { kid: string; x: string })[] }
  return there(keys[0])
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Returns tokens that anybody could make who knows what is published. */
async function forged(): Promise<Record<string, string>> {
  const jwk = await published()
  const pem = createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' })
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const es256 = (header: object) => {
    const text = `${part({ alg: 'ES256', typ: 'JWT', ...header })}.${part(claims)}`
    const key = { key: stranger.privateKey, dsaEncoding: 'ieee-p1363' } as const
    return `${text}.${sign('sha256', Buffer.from(text), key).toString('base64url')}`
  }
  const hs256 = (secret: string, header: object = {}) =>
    signed(claims, secret, { alg: 'HS256', typ: 'JWT', ...header })
  const { session } = await newUser()
  const [head = '', , signature = ''] = session.access_token.split('.')
  const unsigned = ['none', 'None', 'NONE', ''].map((alg) => [
    `algorithm "${alg}"`,
    signed(claims, '', { alg }),
  ])
  return {
    ...(Object.fromEntries(unsigned) as Record<string, string>),
    'the public key as the secret, in PEM': hs256(pem.toString()),
    'the public key as the secret, under its id': hs256(pem.toString(), { kid: jwk.kid }),
    'the public key as the secret, its coordinate': hs256(jwk.x),
    'no secret': hs256(' '),
    'no secret, and a file as the id of the key': hs256('\0', { kid: '../../../dev/null' }),
    'a key of its own, in the header': es256({
      jwk: stranger.publicKey.export({ format: 'jwk' }),
    }),
    'a key of its own, at an address in the header': es256({
      jku: 'http://127.0.0.1:9/keys',
      x5u: 'http://127.0.0.1:9/keys',
    }),
    'a key of its own, under the id of the project’s': es256({ kid: jwk.kid }),
    'zeros for a signature': `${part({ alg: 'ES256', kid: jwk.kid })}.${part(claims)}.${'A'.repeat(86)}`,
    'the signature of another token': `${head}.${part(claims)}.${signature}`,
  }
}

describe.skipIf(!isOwn)('tokens', () => {
  test('that somebody else has made open no service', async () => {
    // Otherwise the refusals below would prove nothing.
    expect(await opened(inject('access').serviceKey)).toHaveLength(6)
    for (const [name, token] of Object.entries(await forged()))
      expect(await opened(token), name).toEqual([])
  })

  test('of signed URLs are nobody’s', async () => {
    const name = `signed-${crypto.randomUUID()}`
    await service().storage.createBucket(name)
    const bucket = service().storage.from(name)
    for (const object of ['one', 'other']) await bucket.upload(object, object)
    const { data } = await bucket.createSignedUrl('one', 60)
    const { origin, pathname, searchParams } = new URL(there(data).signedUrl)
    const token = there(searchParams.get('token'))
    const read = async (path: string) => {
      const response = await fetch(`${origin}${path}?token=${token}`)
      return response.ok ? await response.text() : response.status
    }
    expect(await read(pathname)).toBe('one')
    expect(await read(pathname.replace(/one$/, 'other'))).toBe(400)
    const { anonKey: apikey } = inject('access')
    const headers = { apikey, authorization: `Bearer ${token}` }
    const other = pathname.replace(/\/sign\/.*$/, `/authenticated/${name}/other`)
    expect((await fetch(`${origin}${other}`, { headers })).ok).toBe(false)
    expect((await fetch(`${origin}/auth/v1/user`, { headers })).ok).toBe(false)
    const keyed = await fetch(`${origin}/rest/v1/faqs?limit=1`, { headers: { apikey: token } })
    expect(keyed.status).toBe(401)
  })
})
