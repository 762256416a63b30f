import type { EmailOtpType } from '@supabase/supabase-js'
import { expect, test } from 'vitest'

import { PHONE_CODE, PHONES } from '../../support/auth.mjs'
import { service, visitor } from '../clients.ts'
import {
  arrive,
  describeBackstage,
  inbox,
  member,
  newAddress,
  ok,
  open,
  PASSWORD,
  refusal,
  there,
  WELCOME,
} from './people.ts'

describeBackstage('signing in by mail', () => {
  test('a code signs in somebody who is new, and somebody who is known', async () => {
    const email = newAddress()
    for (const subject of ['Confirm your email address', 'Your sign-in link']) {
      const client = visitor()
      await ok(client.auth.signInWithOtp({ email, options: { data: { team: 'Row' } } }))
      const mail = await inbox().newest(email)
      expect(mail.subject).toBe(subject)
      const { user } = await ok(client.auth.verifyOtp({ email, token: mail.code, type: 'email' }))
      expect(user).toMatchObject({ email, user_metadata: { team: 'Row' } })
    }
  })

  test('a magic link signs in', async () => {
    const { email, id } = await member()
    await ok(visitor().auth.signInWithOtp({ email, options: { emailRedirectTo: WELCOME } }))
    const client = await arrive((await inbox().newest(email)).link)
    expect((await ok(client.auth.getUser())).user.id).toBe(id)
  })

  test('a program that asks for the head of a link leaves it to its reader', async () => {
    const { email, id } = await member()
    await ok(visitor().auth.signInWithOtp({ email, options: { emailRedirectTo: WELCOME } }))
    const { link } = await inbox().newest(email)
    const scanned = await fetch(link, { method: 'HEAD', redirect: 'manual' })
    expect(scanned.status).toBe(405)
    const client = await arrive(link)
    expect((await ok(client.auth.getUser())).user.id).toBe(id)
  })

  test('with PKCE a magic link brings a code that counts once', async () => {
    const { email } = await member()
    const client = visitor({ flowType: 'pkce' })
    await ok(client.auth.signInWithOtp({ email, options: { emailRedirectTo: `${WELCOME}?a=b` } }))
    const landing = await open((await inbox().newest(email)).link)
    expect(landing.searchParams.get('a')).toBe('b')
    const code = there(landing.searchParams.get('code'))
    const { session } = await ok(client.auth.exchangeCodeForSession(code))
    expect(session.user.email).toBe(email)
    // The client deletes its verifier after using the code; this is the response for a client that does not.
    await ok(client.auth.signInWithOtp({ email }))
    expect(await refusal(client.auth.exchangeCodeForSession(code))).toMatchObject({
      status: 404,
      code: 'flow_state_not_found',
    })
  })

  test('another verifier opens nothing', async () => {
    const [one, other] = [await member(), visitor({ flowType: 'pkce' })]
    const client = visitor({ flowType: 'pkce' })
    await ok(client.auth.signInWithOtp({ email: one.email }))
    const landing = await open((await inbox().newest(one.email)).link)
    await ok(other.auth.signInWithOtp({ email: newAddress() }))
    const code = there(landing.searchParams.get('code'))
    expect(await refusal(other.auth.exchangeCodeForSession(code))).toMatchObject({
      status: 400,
      code: 'bad_code_verifier',
    })
    await ok(client.auth.exchangeCodeForSession(code))
  })

  test('who is unknown may be kept out', async () => {
    const answer = visitor().auth.signInWithOtp({
      email: newAddress(),
      options: { shouldCreateUser: false },
    })
    expect(await refusal(answer)).toMatchObject({
      status: 422,
      code: 'otp_disabled',
      message: 'Signups not allowed for otp',
    })
  })
})

describeBackstage('codes and hashes of each type', () => {
  /** A link of each kind that administrators can make, without a mail. */
  const links = {
    signup: (email: string) =>
      service().auth.admin.generateLink({ type: 'signup', email, password: PASSWORD }),
    invite: (email: string) => service().auth.admin.generateLink({ type: 'invite', email }),
    magiclink: (email: string) => service().auth.admin.generateLink({ type: 'magiclink', email }),
    recovery: (email: string) => service().auth.admin.generateLink({ type: 'recovery', email }),
  }
  const cases: [EmailOtpType, keyof typeof links, boolean][] = [
    ['signup', 'signup', false],
    ['email', 'signup', false],
    ['invite', 'invite', false],
    ['magiclink', 'magiclink', true],
    ['email', 'magiclink', true],
    ['recovery', 'recovery', true],
  ]

  test.for(cases)('%s verifies a link of type %s', async ([type, kind, isKnown]) => {
    const byCode = isKnown ? (await member()).email : newAddress()
    const { properties } = await ok(links[kind](byCode))
    expect(properties.verification_type).toBe(kind)
    const token = properties.email_otp
    const { session } = await ok(visitor().auth.verifyOtp({ email: byCode, token, type }))
    expect(there(session).user.email).toBe(byCode)

    const byHash = isKnown ? (await member()).email : newAddress()
    const { hashed_token: token_hash } = (await ok(links[kind](byHash))).properties
    const hashed = await ok(visitor().auth.verifyOtp({ token_hash, type }))
    expect(there(hashed.session).user.email).toBe(byHash)
    expect(await refusal(visitor().auth.verifyOtp({ token_hash, type }))).toMatchObject({
      status: 403,
      code: 'otp_expired',
      message: 'Email link is invalid or has expired',
    })
  })
})

describeBackstage('signing in by phone', () => {
  test('a code signs in, and confirms the number of somebody new', async () => {
    const phone = `+${there(PHONES[0])}`
    const client = visitor()
    await ok(client.auth.signInWithOtp({ phone }))
    const wrong = client.auth.verifyOtp({ phone, token: '000000', type: 'sms' })
    expect(await refusal(wrong)).toMatchObject({ status: 403, code: 'otp_expired' })
    const { user } = await ok(client.auth.verifyOtp({ phone, token: PHONE_CODE, type: 'sms' }))
    expect(user).toMatchObject({ phone: phone.slice(1), app_metadata: { provider: 'phone' } })
    expect(user?.phone_confirmed_at).toEqual(expect.any(String))
  })

  test('a number and a password make an account', async () => {
    const phone = there(PHONES[1])
    const { session } = await ok(visitor().auth.signUp({ phone, password: PASSWORD }))
    expect(session).toBeNull()
    const early = await refusal(visitor().auth.signInWithPassword({ phone, password: PASSWORD }))
    expect(early).toMatchObject({ status: 400, code: 'phone_not_confirmed' })
    await ok(visitor().auth.resend({ type: 'sms', phone }))
    await ok(visitor().auth.verifyOtp({ phone, token: PHONE_CODE, type: 'sms' }))
    await ok(visitor().auth.signInWithPassword({ phone, password: PASSWORD }))
  })

  test('a number is added to an account by its code', async () => {
    const { client, id } = await member()
    const phone = there(PHONES[2])
    const { user } = await ok(client.auth.updateUser({ phone }))
    expect(user.new_phone).toBe(phone)
    await ok(client.auth.verifyOtp({ phone, token: PHONE_CODE, type: 'phone_change' }))
    const now = (await ok(client.auth.getUser())).user
    expect(now).toMatchObject({ id, phone })
    expect(now.identities?.map(({ provider }) => provider)).toContain('phone')
  })
})
