import { generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'

import { group } from '../../case.ts'
import type { Context } from '../../context.ts'
import {
  claimsOf,
  freshEmail,
  gotrue,
  link,
  refusal,
  removesUser,
  removesUserOf,
} from '../../gotrue.ts'
import { partly, some } from '../../match.ts'

const guide = 'https://supabase.com/docs/guides/auth/auth-web3'
const grant = 'token?grant_type=web3'

/** Ends the probe where wallets of a chain are off. */
async function takes(t: Context, chain: string): Promise<void> {
  const response = await t.post(grant, { chain, message: 'x', signature: 'x' })
  const code = response.field('error_code')
  // Older services do not know the grant.
  const known = code !== 'web3_provider_disabled' && code !== 'invalid_credentials'
  if (!known) t.absent('wallets are off')
}

/** Returns bytes in the alphabet of Bitcoin, in which a wallet writes its address. */
function base58(bytes: Uint8Array): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  let number = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (; number > 0n; number /= 58n) text = (alphabet[Number(number % 58n)] ?? '') + text
  return text
}

/** Returns a wallet: what it is called, and its key. */
function wallet(): { address: string; key: KeyObject } {
  for (;;) {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const bytes = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32)
    if (bytes[0] !== 0) return { address: base58(bytes), key: privateKey }
  }
}

/** Returns an address that wallets may sign for: one that the service allows, and that is local or HTTPS. */
async function pageOf(t: Context): Promise<URL> {
  const email = freshEmail(t)
  const { redirect_to: site } = await link(t, 'magiclink', email)
  for (const wanted of [site, 'http://localhost:3000/', 'http://localhost:5173/']) {
    const url = new URL(wanted)
    if (url.protocol !== 'https:' && url.hostname !== 'localhost') continue
    const { redirect_to } = await link(t, 'magiclink', email, { redirect_to: wanted })
    if (redirect_to === wanted) return url
  }
  return t.absent('no address that a wallet may sign for is allowed')
}

/** Returns what a wallet signs. */
function text(address: string, page: URL, changes: { issued?: Date; uri?: string } = {}): string {
  const { issued = new Date(), uri = page.href } = changes
  return [
    `${page.host} wants you to sign in with your Solana account:`,
    ...[address, '', 'Kick-off', ''],
    ...[`URI: ${uri}`, 'Version: 1', 'Chain ID: solana:mainnet'],
    ...[`Nonce: ${randomBytes(8).toString('hex')}`, `Issued At: ${issued.toISOString()}`],
  ].join('\n')
}

const signed = (message: string, key: KeyObject) =>
  sign(null, Buffer.from(message), key).toString('base64')

export const solana = group('auth.web3-solana', {
  title: 'Signing in with a wallet: Solana',
  source: guide,
  needs: ['service'],
  probe: (t) => takes(t, 'solana'),
})

solana.case('sign-in', 'who signs the message is signed in', async (t) => {
  const { address, key } = wallet()
  const message = text(address, await pageOf(t))
  const response = await t.post(grant, {
    chain: 'solana',
    message,
    signature: signed(message, key),
  })
  removesUserOf(t, response)
  response.has(200, {
    access_token: some.token,
    user: partly({
      email: '',
      identities: [
        partly({
          ...{ provider: 'web3', id: `web3:solana:${address}` },
          identity_data: partly({
            custom_claims: partly({ address, chain: 'solana', statement: 'Kick-off' }),
          }),
        }),
      ],
    }),
  })
  t.equal(
    claimsOf(response.field('access_token')),
    partly({ amr: [partly({ method: 'web3' })], is_anonymous: false }),
    null,
  )
})

solana.case('client', 'a stock client signs in with the message that it makes', async (t) => {
  const { address, key } = wallet()
  const page = await pageOf(t)
  const { data, error } = await t.anon.auth.signInWithWeb3({
    chain: 'solana',
    statement: 'Kick-off',
    wallet: {
      publicKey: { toBase58: () => address },
      signMessage: (message) => Promise.resolve(new Uint8Array(sign(null, message, key))),
    },
    options: { url: page.href },
  })
  removesUser(t, data.user?.id)
  t.ok({ error })
  t.response().has(200, {
    access_token: some.token,
    user: partly({ identities: [partly({ id: `web3:solana:${address}` })] }),
  })
})

solana.case('again', 'the same wallet is the same user', async (t) => {
  const { address, key } = wallet()
  const page = await pageOf(t)
  const asks = (message: string) =>
    t.post(grant, { chain: 'solana', message, signature: signed(message, key) })
  const first = await asks(text(address, page))
  removesUserOf(t, first)
  const { user } = first.json as { user: { id: string } }
  await asks(text(address, page)).has(200, { user: partly({ id: user.id }) })
})

const wrong: [string, string, (page: URL) => Parameters<typeof text>[2], number][] = [
  [
    'old',
    'a message of ten minutes ago is too old',
    () => ({ issued: new Date(Date.now() - 3_600_000) }),
    108,
  ],
  [
    'new',
    'a message of the future is not yet good',
    () => ({ issued: new Date(Date.now() + 3_600_000) }),
    114,
  ],
  [
    'elsewhere',
    'a message for another page is refused',
    () => ({ uri: 'https://evil.conformance.invalid/' }),
    88,
  ],
]
for (const [name, promise, changes, line] of wrong) {
  solana.case(name, promise, { source: gotrue('web3.go', line) }, async (t) => {
    const { address, key } = wallet()
    const page = await pageOf(t)
    const message = text(address, page, changes(page))
    await t
      .post(grant, { chain: 'solana', message, signature: signed(message, key) })
      .is(400, partly({ error: 'invalid_grant' }))
  })
}

solana.case(
  'signature.wrong',
  'the signature of another wallet is refused',
  { source: gotrue('web3.go', 80) },
  async (t) => {
    const { address } = wallet()
    const message = text(address, await pageOf(t))
    await t
      .post(grant, { chain: 'solana', message, signature: signed(message, wallet().key) })
      .is(400, partly({ error: 'invalid_grant' }))
  },
)

const unreadable: [string, string, Record<string, unknown>, number][] = [
  ['message.short', 'a message has 64 characters at least', { message: 'x'.repeat(63) }, 59],
  ['message.long', 'a message has 20 KB at most', { message: 'x'.repeat(20_481) }, 61],
  [
    'message.malformed',
    'a message has the form that wallets show',
    { message: 'x'.repeat(64) },
    76,
  ],
  [
    'signature.malformed',
    'a signature has 64 bytes',
    { message: 'x'.repeat(64), signature: 'x' },
    65,
  ],
]
for (const [name, promise, body, line] of unreadable) {
  solana.case(name, promise, { source: gotrue('web3.go', line) }, (t) =>
    t
      .post(grant, { chain: 'solana', signature: 'A'.repeat(88), ...body })
      .is(...refusal(400, 'validation_failed')),
  )
}

solana.case('chain', 'an unknown chain is refused', { source: gotrue('web3.go', 49) }, (t) =>
  t
    .post(grant, { chain: 'daisy', message: 'x'.repeat(64), signature: 'x' })
    .is(...refusal(400, 'web3_unsupported_chain')),
)

export const ethereum = group('auth.web3-ethereum', {
  title: 'Signing in with a wallet: Ethereum',
  source: guide,
  probe: (t) => takes(t, 'ethereum'),
})

const ethereal: [string, string, Record<string, unknown>, number][] = [
  ['message.short', 'a message has 64 characters at least', { message: 'x'.repeat(63) }, 211],
  ['message.long', 'a message has 20 KB at most', { message: 'x'.repeat(20_481) }, 213],
  [
    'message.malformed',
    'a message has the form that wallets show',
    { message: 'x'.repeat(64) },
    222,
  ],
  [
    'signature.malformed',
    'a signature has 65 bytes',
    { message: 'x'.repeat(64), signature: 'x' },
    217,
  ],
]
for (const [name, promise, body, line] of ethereal) {
  ethereum.case(name, promise, { source: gotrue('web3.go', line) }, (t) =>
    t
      .post(grant, { chain: 'ethereum', signature: `0x${'0'.repeat(130)}`, ...body })
      .is(...refusal(400, 'validation_failed')),
  )
}
