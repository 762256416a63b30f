import { expect, test } from 'vitest'

import type { Traits } from '../../support/client.ts'
import { nextTotp, totp, wrongTotp } from '../../support/totp.ts'
import { service, visitor } from '../clients.ts'
import {
  describeBackstage,
  member,
  newAddress,
  ok,
  refusal,
  signedIn,
  there,
  type Member,
} from './people.ts'

/** Returns a member with an authenticator app, whose code has raised the session. */
async function protectedMember(
  traits?: Traits,
): Promise<Member & { factorId: string; secret: string }> {
  const one = await member(traits)
  const factorType = 'totp'
  const { id: factorId, totp: app } = await ok(one.client.auth.mfa.enroll({ factorType }))
  const code = totp(app.secret)
  await ok(one.client.auth.mfa.challengeAndVerify({ factorId, code }))
  return { ...one, factorId, secret: app.secret }
}

test('an authenticator app is enrolled, and its code raises the session', async () => {
  const { client, email } = await member()
  const levels = client.auth.mfa.getAuthenticatorAssuranceLevel()
  expect(await ok(levels)).toMatchObject({ currentLevel: 'aal1', nextLevel: 'aal1' })

  const enrolled = await ok(
    client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'Phone', issuer: 'Harbour Row FC' }),
  )
  expect(enrolled).toMatchObject({ type: 'totp', friendly_name: 'Phone' })
  expect(enrolled.totp.qr_code).toMatch(/^data:image\/svg\+xml;utf-8,\s*(<\?xml[^>]*>)?\s*<svg/)
  const uri = new URL(enrolled.totp.uri)
  expect(decodeURIComponent(uri.pathname)).toContain(`Harbour Row FC:${email}`)
  expect(uri.searchParams.get('secret')).toBe(enrolled.totp.secret)

  const factorId = enrolled.id
  const challenge = await ok(client.auth.mfa.challenge({ factorId }))
  const wrong = { factorId, challengeId: challenge.id, code: wrongTotp(enrolled.totp.secret) }
  expect(await refusal(client.auth.mfa.verify(wrong))).toMatchObject({
    status: 422,
    code: 'mfa_verification_failed',
  })
  const right = { ...wrong, code: totp(enrolled.totp.secret) }
  const session = await ok(client.auth.mfa.verify(right))
  expect(session.user.factors).toMatchObject([{ id: factorId, status: 'verified' }])
  const raised = await ok(client.auth.mfa.getAuthenticatorAssuranceLevel())
  expect(raised.currentLevel).toBe('aal2')
  expect(raised.currentAuthenticationMethods).toMatchObject([
    { method: 'totp' },
    { method: 'password' },
  ])
  const { session: refreshed } = await ok(client.auth.refreshSession())
  const { claims } = there(await ok(client.auth.getClaims(there(refreshed).access_token)))
  expect(claims.aal).toBe('aal2')
})

test('who has a factor needs it for what matters', async () => {
  const { email, secret, factorId } = await protectedMember()
  const { client } = await signedIn(email)
  const { currentLevel, nextLevel } = await ok(client.auth.mfa.getAuthenticatorAssuranceLevel())
  expect([currentLevel, nextLevel]).toEqual(['aal1', 'aal2'])
  expect(await refusal(client.auth.updateUser({ password: 'a new password' }))).toMatchObject({
    status: 401,
    code: 'insufficient_aal',
  })
  expect(await refusal(client.auth.mfa.unenroll({ factorId }))).toMatchObject({
    status: 422,
    code: 'insufficient_aal',
  })
  await ok(client.auth.mfa.challengeAndVerify({ factorId, code: nextTotp(secret) }))
  await ok(client.auth.updateUser({ password: 'a new password' }))
})

test('factors are listed and removed', async () => {
  const { client, factorId } = await protectedMember()
  await ok(client.auth.mfa.enroll({ factorType: 'totp', friendlyName: 'Tablet' }))
  const { all, totp: verified } = await ok(client.auth.mfa.listFactors())
  expect(all).toHaveLength(2)
  expect(verified.map(({ id }) => id)).toEqual([factorId])
  expect((await ok(client.auth.mfa.unenroll({ factorId }))).id).toBe(factorId)
  const left = await ok(client.auth.mfa.listFactors())
  expect(left.all.map((factor) => factor.friendly_name)).toEqual(['Tablet'])
  await ok(client.auth.refreshSession())
  const { currentLevel } = await ok(client.auth.mfa.getAuthenticatorAssuranceLevel())
  expect(currentLevel).toBe('aal1')
})

// Hosted projects have them switched off.
describeBackstage('recovery codes', () => {
  const traits = { experimental: true }

  test('take the place of a factor that is lost, each once', async () => {
    const { client, email, factorId } = await protectedMember(traits)
    const { recoveryCodes } = client.auth.mfa
    expect(await refusal(recoveryCodes.getStatus())).toMatchObject({
      status: 404,
      code: 'mfa_factor_not_found',
    })
    const made = await ok(recoveryCodes.generate({ friendlyName: 'In the safe' }))
    expect(made).toMatchObject({ type: 'recovery_code', friendly_name: 'In the safe', total: 10 })
    expect(made.codes).toHaveLength(10)
    const { all, recovery_code: listed } = await ok(client.auth.mfa.listFactors())
    expect(all).toHaveLength(2)
    expect(listed.map(({ id }) => id)).toEqual([made.id])

    const code = there(made.codes[3])
    const elsewhere = await signedIn(email, traits)
    const { mfa } = elsewhere.client.auth
    const session = await ok(
      mfa.recoveryCodes.verify({ code: `${code.slice(0, 8)}-${code.slice(8)}`.toUpperCase() }),
    )
    expect(session.user.id).toBe(elsewhere.session.user.id)
    const raised = await ok(mfa.getAuthenticatorAssuranceLevel())
    expect(raised.currentLevel).toBe('aal2')
    expect(raised.currentAuthenticationMethods).toMatchObject([
      { method: 'mfa/recovery_code' },
      { method: 'password' },
    ])
    expect(await ok(mfa.recoveryCodes.getStatus())).toEqual({
      id: made.id,
      type: 'recovery_code',
      total: 10,
      remaining: 9,
    })
    const third = await signedIn(email, traits)
    expect(await refusal(third.client.auth.mfa.recoveryCodes.verify({ code }))).toMatchObject({
      status: 422,
      code: 'mfa_verification_failed',
    })

    const remade = await ok(recoveryCodes.regenerate())
    expect(remade).toMatchObject({ id: made.id, friendly_name: 'In the safe', total: 10 })
    expect(remade.codes).not.toContain(there(made.codes[0]))
    expect(await refusal(client.auth.mfa.unenroll({ factorId }))).toMatchObject({
      status: 422,
      code: 'mfa_recovery_codes_sole_factor',
    })
    expect(await ok(recoveryCodes.unenroll())).toEqual({ id: made.id })
    await ok(client.auth.mfa.unenroll({ factorId }))
  })

  test('rest after wrong ones', async () => {
    const { client, email } = await protectedMember(traits)
    const made = await ok(client.auth.mfa.recoveryCodes.generate())
    expect(made.friendly_name).toBe('Recovery codes')
    const { mfa } = (await signedIn(email, traits)).client.auth
    for (let wrong = 0; wrong < 5; wrong++) {
      const answer = mfa.recoveryCodes.verify({ code: 'aaaa-aaaa-aaaa-aaaa' })
      expect((await refusal(answer)).code).toBe('mfa_verification_failed')
    }
    const code = there(made.codes[0])
    expect(await refusal(mfa.recoveryCodes.verify({ code }))).toMatchObject({
      status: 429,
      code: 'mfa_recovery_codes_locked',
    })
  })
})

test('names of factors are unique', async () => {
  const { client } = await member()
  const factor = { factorType: 'totp', friendlyName: 'Phone' } as const
  await ok(client.auth.mfa.enroll(factor))
  expect(await refusal(client.auth.mfa.enroll(factor))).toMatchObject({
    status: 422,
    code: 'mfa_factor_name_conflict',
  })
})

test('administrators list and remove factors', async () => {
  const { id: userId, factorId } = await protectedMember()
  const { mfa } = service().auth.admin
  const { factors } = await ok(mfa.listFactors({ userId }))
  expect(factors).toMatchObject([{ id: factorId, factor_type: 'totp', status: 'verified' }])
  await ok(mfa.deleteFactor({ userId, id: factorId }))
  expect((await ok(mfa.listFactors({ userId }))).factors).toEqual([])
  expect(await refusal(mfa.deleteFactor({ userId, id: factorId }))).toMatchObject({
    status: 404,
    code: 'mfa_factor_not_found',
  })
})

test('without a session there are no factors', async () => {
  const answer = visitor().auth.mfa.enroll({ factorType: 'totp', friendlyName: newAddress() })
  expect((await refusal(answer)).status).toBeGreaterThanOrEqual(400)
})
