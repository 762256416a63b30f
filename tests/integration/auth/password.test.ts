import { AuthWeakPasswordError } from '@supabase/supabase-js'
import { expect, test } from 'vitest'

import { service, visitor } from '../clients.ts'
import {
  arrive,
  describeBackstage,
  fragment,
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

describeBackstage('signing up by password', () => {
  test('a link confirms the address and signs in', async () => {
    const email = newAddress()
    const options = { data: { full_name: 'Ann Ashby' }, emailRedirectTo: WELCOME }
    const { user, session } = await ok(
      visitor().auth.signUp({ email, password: PASSWORD, options }),
    )
    expect(session).toBeNull()
    expect(user).toMatchObject({ email, user_metadata: { full_name: 'Ann Ashby' } })
    const early = await refusal(visitor().auth.signInWithPassword({ email, password: PASSWORD }))
    expect(early).toMatchObject({ status: 400, code: 'email_not_confirmed' })

    const mail = await inbox().newest(email)
    expect(mail.subject).toBe('Confirm your email address')
    const landing = await open(mail.link)
    expect(landing.href.startsWith(`${WELCOME}#`)).toBe(true)
    expect(fragment(landing).get('type')).toBe('signup')

    const client = visitor()
    const tokens = fragment(landing)
    const arrived = await ok(
      client.auth.setSession({
        access_token: there(tokens.get('access_token')),
        refresh_token: there(tokens.get('refresh_token')),
      }),
    )
    expect(arrived.user?.email_confirmed_at).toEqual(expect.any(String))
    expect(arrived.user?.user_metadata).toMatchObject({ email_verified: true })
    const second = fragment(await open(mail.link))
    expect(second.get('error_code')).toBe('otp_expired')
    await ok(visitor().auth.signInWithPassword({ email, password: PASSWORD }))
  })

  test('the code does what the link does', async () => {
    const email = newAddress()
    await ok(visitor().auth.signUp({ email, password: PASSWORD }))
    const { code } = await inbox().newest(email)
    const client = visitor()
    const { session } = await ok(client.auth.verifyOtp({ email, token: code, type: 'signup' }))
    expect(there(session).user.email).toBe(email)
    const second = await refusal(visitor().auth.verifyOtp({ email, token: code, type: 'signup' }))
    expect(second).toMatchObject({
      status: 403,
      code: 'otp_expired',
      message: 'Token has expired or is invalid',
    })
  })

  test('with PKCE the link brings a code, which only the client that began can use', async () => {
    const email = newAddress()
    const client = visitor({ flowType: 'pkce' })
    const options = { emailRedirectTo: WELCOME }
    await ok(client.auth.signUp({ email, password: PASSWORD, options }))
    const landing = await open((await inbox().newest(email)).link)
    const code = there(landing.searchParams.get('code'))
    const stranger = visitor({ flowType: 'pkce' }).auth.exchangeCodeForSession(code)
    expect(await refusal(stranger)).toMatchObject({ name: 'AuthPKCECodeVerifierMissingError' })
    const { session } = await ok(client.auth.exchangeCodeForSession(code))
    expect(session.user.email).toBe(email)
  })

  test('a mail that was lost is sent again', async () => {
    const email = newAddress()
    await ok(visitor().auth.signUp({ email, password: PASSWORD }))
    await ok(visitor().auth.resend({ type: 'signup', email }))
    const [latest, first] = await inbox().all(email)
    const stale = visitor().auth.verifyOtp({ email, token: there(first).code, type: 'email' })
    expect(await refusal(stale)).toMatchObject({ code: 'otp_expired' })
    await ok(visitor().auth.verifyOtp({ email, token: there(latest).code, type: 'email' }))
  })

  test('an address that has an account cannot be told from a new one', async () => {
    const { email, id } = await member()
    const { user, session } = await ok(
      visitor().auth.signUp({ email, password: 'another password' }),
    )
    expect(session).toBeNull()
    expect(user).toMatchObject({ email, identities: [] })
    expect(user?.id).not.toBe(id)
    expect(await inbox().all(email)).toEqual([])
  })
})

test('the refusal of a weak password says what it lacks', async () => {
  const answer = visitor().auth.signUp({ email: newAddress(), password: 'short' })
  const error = await refusal(answer)
  expect(error).toBeInstanceOf(AuthWeakPasswordError)
  expect(error).toMatchObject({ status: 422, code: 'weak_password', reasons: ['length'] })
})

test('an address that is none is refused', async () => {
  const answer = visitor().auth.signUp({ email: 'no address', password: PASSWORD })
  expect(await refusal(answer)).toMatchObject({ status: 400, code: 'validation_failed' })
})

test('a wrong password and an unknown address get the same answer', async () => {
  const { email } = await member()
  const wrong = await refusal(visitor().auth.signInWithPassword({ email, password: 'wrong one' }))
  const unknown = await refusal(
    visitor().auth.signInWithPassword({ email: newAddress(), password: 'wrong one' }),
  )
  expect(wrong).toMatchObject({ status: 400, code: 'invalid_credentials' })
  expect(unknown.toJSON()).toEqual(wrong.toJSON())
})

describeBackstage('forgotten passwords', () => {
  test('a link lets its owner choose a new one', async () => {
    const { email } = await member()
    await ok(visitor().auth.resetPasswordForEmail(email, { redirectTo: WELCOME }))
    const mail = await inbox().newest(email)
    expect(mail.subject).toBe('Reset your password')
    const client = await arrive(mail.link)
    await ok(client.auth.updateUser({ password: 'a password that I remember' }))
    const old = visitor().auth.signInWithPassword({ email, password: PASSWORD })
    expect(await refusal(old)).toMatchObject({ code: 'invalid_credentials' })
    const password = 'a password that I remember'
    await ok(visitor().auth.signInWithPassword({ email, password }))
  })

  test('with PKCE the client knows that it is about recovery', async () => {
    const { email } = await member()
    const client = visitor({ flowType: 'pkce' })
    const events: string[] = []
    client.auth.onAuthStateChange((event) => void events.push(event))
    await ok(client.auth.resetPasswordForEmail(email, { redirectTo: WELCOME }))
    const landing = await open((await inbox().newest(email)).link)
    const code = there(landing.searchParams.get('code'))
    const { data } = await client.auth.exchangeCodeForSession(code)
    expect(data).toMatchObject({ redirectType: 'recovery' })
    expect(events).toContain('PASSWORD_RECOVERY')
  })

  test('nobody learns who has an account', async () => {
    const email = newAddress()
    await ok(visitor().auth.resetPasswordForEmail(email))
    expect(await inbox().all(email)).toEqual([])
  })

  test('the password that one has is no new one', async () => {
    const { client } = await member()
    const same = await refusal(client.auth.updateUser({ password: PASSWORD }))
    expect(same).toMatchObject({ status: 422, code: 'same_password' })
  })
})

test('somebody who is banned stays out', async () => {
  const { id, email } = await member()
  await ok(service().auth.admin.updateUserById(id, { ban_duration: '24h' }))
  const banned = visitor().auth.signInWithPassword({ email, password: PASSWORD })
  expect(await refusal(banned)).toMatchObject({ status: 400, code: 'user_banned' })
  await ok(service().auth.admin.updateUserById(id, { ban_duration: 'none' }))
  await ok(visitor().auth.signInWithPassword({ email, password: PASSWORD }))
})
