/** What cases of auth share: where upstream says it, refusals, tokens, codes of authenticators, links and redirects. */
import { createHash, createHmac, randomBytes } from 'node:crypto'

import type { RawResponse } from './raw-response.ts'
import type { Context } from './context.ts'
import { partly, some } from './match.ts'

const repository = 'https://github.com/supabase/auth/blob/bc32168e13fdc928c98b449fc76bc3fdb9a293c5'

/** Returns a place in the source of the API of upstream's service, for what no page says. */
export function gotrue(file: string, line: number): string {
  return new URL(`internal/api/${file}#L${line}`, `${repository}/`).href
}

/** Returns a place in upstream's description of the API. */
export function openapi(line: number): string {
  return `${repository}/openapi.yaml#L${line}`
}

/**
 * Returns the status and body of a refusal, for `is`. Upstream says that texts are for people and may change, so a
 * text is only compared where stock clients match on it.
 */
export function refusal(
  status: number,
  code: string | RegExp,
  text: unknown = some.string,
): [number, { code: number; error_code: string | RegExp; msg: unknown }] {
  return [status, { code: status, error_code: code, msg: text }]
}

/** Returns the claims of a token, unverified. */
export function claimsOf(token: string): Record<string, unknown> {
  return part(token, 1)
}

/** Returns the header of a token. */
export function headerOf(token: string): Record<string, unknown> {
  return part(token, 0)
}

function part(token: string, index: number): Record<string, unknown> {
  const text = Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()
  return JSON.parse(text) as Record<string, unknown>
}

/** Returns the code that an authenticator app shows for a base32 secret: RFC 6238, six digits, 30 seconds. */
export function totp(secret: string): string {
  const bits = Array.from(secret.replaceAll('=', ''), (letter) =>
    'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
  ).join('')
  const bytes = (bits.match(/.{8}/g) ?? []).map((octet) => Number.parseInt(octet, 2))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)))
  const mac = createHmac('sha1', Buffer.from(bytes)).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 15
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0')
}

/** Returns a code that is not `code`. */
export function otherCode(code: string): string {
  return code.replace(/^./, (digit) => String((Number(digit) + 1) % 10))
}

/** Returns the secret and the public half of a PKCE flow, by the method `s256`. */
export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(48).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** An account without a session. */
interface Account {
  id: string
  email: string
  password: string
}

/** Makes a confirmed user without a session, and removes it after the case; the case needs `service`. */
export async function account(
  t: Context,
  attributes: Record<string, unknown> = {},
): Promise<Account> {
  const email = freshEmail(t)
  const password = freshPassword()
  const wanted = { email, password, email_confirm: true, ...attributes }
  const { id } = await t.prepare('POST', '/auth/v1/admin/users', wanted)
  removesUser(t, id)
  return { id: String(id), email: wanted.email, password: wanted.password }
}

/** Removes a user after the case. */
export function removesUser(t: Context, id: unknown): void {
  t.after(() => t.discard(`/auth/v1/admin/users/${String(id)}`))
}

/** Removes the user that a response is about after the case: a user, or the session of one. */
export function removesUserOf(t: Context, response: RawResponse): void {
  removesUser(t, userOf(response).id)
}

/** Removes the user of an address after the case, where no response of the case names the user. */
export function removesUserAt(t: Context, email: string): void {
  t.after(async () => {
    // The response names the user of the address; where there is none yet, the link makes one.
    const body = { type: 'magiclink', email }
    const { id } = await t.prepare('POST', '/auth/v1/admin/generate_link', body)
    await t.discard(`/auth/v1/admin/users/${String(id)}`)
  })
}

/** Returns the user in a response to a sign-up: itself, or in a session where addresses need no confirmation. */
export function userOf(response: RawResponse): Record<string, unknown> {
  const body = (response.json ?? {}) as Record<string, unknown>
  return (body.user ?? body) as Record<string, unknown>
}

/** Returns an address that nobody has. */
export function freshEmail(t: Context): string {
  return `${t.unique('user')}@example.com`
}

/** Returns a telephone number that nobody has, of a country code without subscribers. */
export function freshPhone(): string {
  return `99${String(randomBytes(6).readUIntBE(0, 6) % 1e10).padStart(10, '0')}`
}

/** Returns a password that policies of all kinds accept. */
export function freshPassword(): string {
  return `aA1!${randomBytes(12).toString('base64url')}`
}

/** A session as raw requests give it. */
export interface Session {
  access_token: string
  refresh_token: string
  user: { id: string; identities: { identity_id: string; provider: string }[] }
}

/** Makes another session of an account; part of a set-up. */
export async function signIn(
  t: Context,
  { email, password }: { email: string; password: string },
): Promise<Session> {
  const path = '/auth/v1/token?grant_type=password'
  return (await t.prepare('POST', path, { email, password })) as unknown as Session
}

/** The response of the service to a request for a link. */
interface Link {
  id: string
  action_link: string
  email_otp: string
  hashed_token: string
  verification_type: string
  redirect_to: string
}

/** Lets the service make a link without sending it; part of a set-up. */
export async function link(
  t: Context,
  type: string,
  email: string,
  more: Record<string, unknown> = {},
): Promise<Link> {
  const body = { type, email, ...more }
  const created = await t.prepare('POST', '/auth/v1/admin/generate_link', body)
  removesUser(t, created.id)
  return created as unknown as Link
}

/** Returns where a redirect leads to, taken apart. */
export function target(location: string): {
  to: string
  query: Record<string, string>
  fragment: Record<string, string>
} {
  const url = new URL(location)
  return {
    to: `${url.origin === 'null' ? url.protocol : url.origin}${url.pathname.replace(/\/$/, '')}`,
    query: Object.fromEntries(url.searchParams),
    fragment: Object.fromEntries(new URLSearchParams(url.hash.slice(1))),
  }
}

/** Checks that the response is a redirect with this status to at least these parts of `target`. */
export function redirects(
  t: Context,
  response: RawResponse,
  status: number,
  expected: Partial<ReturnType<typeof target>> | Record<string, unknown>,
): ReturnType<typeof target> {
  response.is(status).header('location', /./)
  const got = target(response.headerValue('location'))
  t.equal(got, partly(expected), null)
  return got
}

/** Returns a provider that is on; the case is absent where there is none. */
export async function providerThatIsOn(t: Context): Promise<string> {
  const { json } = await t.get('settings')
  const { external } = json as { external: Record<string, boolean> }
  const others = ['email', 'phone', 'anonymous_users', 'twitter']
  const [name] = Object.entries(external).find(([one, on]) => on && !others.includes(one)) ?? []
  return name ?? t.absent('no provider is on')
}

/** Ends the case or the probe where factors of a kind are off. */
export async function enrolls(t: Context, body: Record<string, unknown>): Promise<void> {
  const user = await t.user()
  const response = await t.post('factors', body, { as: user })
  if (response.field('error_code').endsWith('_enroll_not_enabled')) t.absent('the factor is off')
  t.present(response)
}
