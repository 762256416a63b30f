import { expect, test } from 'vitest'

import { PHONE_CODE, PHONES } from '../../support/auth.mjs'
import { visitor } from '../clients.ts'
import { describeOwnServer, ok, PASSWORD, refusal, there } from './users.ts'

describeOwnServer('signing in by phone', () => {
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
})
