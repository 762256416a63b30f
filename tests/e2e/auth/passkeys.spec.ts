import type { Page } from '@playwright/test'

import { expect, test } from '../fixtures.ts'
import { assuranceLevel, isSignedIn, member, signIn } from './club.ts'

/** Adds an authenticator to the browser, built in or plugged in, whose user is always present and verified. */
async function addAuthenticator(page: Page, transport: 'internal' | 'usb'): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
}

test('a passkey is registered, and signs in without a name', async ({ page, server, club }) => {
  const email = await member(server)
  await addAuthenticator(page, 'internal')
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, email)
  const registered = await page.evaluate(async () => {
    const { data, error } = await window.club.auth.registerPasskey()
    if (error !== null) throw error
    await window.club.auth.signOut()
    return data.id
  })
  expect(registered).toMatch(/^[0-9a-f-]{36}$/)
  await expect(page.getByRole('status')).toHaveText('Signed out')
  await page.evaluate(async () => {
    const { error } = await window.club.auth.signInWithPasskey()
    if (error !== null) throw error
  })
  await isSignedIn(page, email)
  const methods = await page.evaluate(async () => {
    const { data } = await window.club.auth.getClaims()
    return data?.claims.amr
  })
  expect(methods).toMatchObject([{ method: 'passkey' }])
})

test('a security key is a second factor', async ({ page, server, club }) => {
  const email = await member(server)
  await addAuthenticator(page, 'usb')
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, email)
  await page.evaluate(async () => {
    const { webauthn } = window.club.auth.mfa
    const { error } = await webauthn.register({ friendlyName: 'Key ring' })
    if (error !== null) throw error
  })
  expect(await assuranceLevel(page)).toBe('aal2')

  await page.evaluate(() => window.club.auth.signOut())
  await signIn(page, email)
  expect(await assuranceLevel(page)).toBe('aal1')
  await page.evaluate(async () => {
    const { data } = await window.club.auth.mfa.listFactors()
    const factorId = data?.webauthn[0]?.id ?? ''
    const { error } = await window.club.auth.mfa.webauthn.authenticate({ factorId })
    if (error !== null) throw error
  })
  expect(await assuranceLevel(page)).toBe('aal2')
})
