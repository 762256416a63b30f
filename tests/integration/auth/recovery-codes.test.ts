import { expect, test } from 'vitest'

import type { Traits } from '../../support/client.ts'
import { totp } from '../../support/totp.ts'
import {
  describeOwnServer,
  newUser,
  ok,
  refusal,
  signedIn,
  there,
  type SignedInUser,
} from './users.ts'

/** Returns a member with an authenticator app, whose code has raised the session. */
async function userWithFactor(
  traits?: Traits,
): Promise<SignedInUser & { factorId: string; secret: string }> {
  const one = await newUser(traits)
  const factorType = 'totp'
  const { id: factorId, totp: app } = await ok(one.client.auth.mfa.enroll({ factorType }))
  const code = totp(app.secret)
  await ok(one.client.auth.mfa.challengeAndVerify({ factorId, code }))
  return { ...one, factorId, secret: app.secret }
}

// Hosted projects have them switched off.
describeOwnServer('recovery codes', () => {
  const traits = { experimental: true }

  test('take the place of a factor that is lost, each once', async () => {
    const { client, email, factorId } = await userWithFactor(traits)
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
})
