import { randomUUID } from 'node:crypto'

import type { SupabaseClient } from '@supabase/supabase-js'
import type { Page } from '@playwright/test'

import { connect } from '../../support/client.ts'
import type { Server } from '../../support/server.mjs'
import { expect } from '../fixtures.ts'

declare global {
  interface Window {
    /** The client on the club's page. */
    club: SupabaseClient
  }
}

export const PASSWORD = 'correct horse battery staple'

/** Returns an address without an account. */
export const newAddress = () => `fan-${randomUUID()}@club.example`

/** Returns the address of a new account, which an administrator has confirmed. */
export async function member({ access }: Server): Promise<string> {
  const email = newAddress()
  const { admin } = connect(access.url, access.serviceKey).auth
  const { error } = await admin.createUser({ email, password: PASSWORD, email_confirm: true })
  if (error !== null) throw error
  return email
}

/** Signs in by password on the page. */
export async function signIn(page: Page, email: string): Promise<void> {
  const credentials = { email, password: PASSWORD }
  await page.evaluate(async (credentials) => {
    const { error } = await window.club.auth.signInWithPassword(credentials)
    if (error !== null) throw error
  }, credentials)
  await isSignedIn(page, email)
}

/** Waits until the page shows that `email` is signed in. */
export async function isSignedIn(page: Page, email: string): Promise<void> {
  await expect(page.getByRole('status')).toHaveText(`Signed in as ${email}`)
}

/** Returns the assurance level of the page's session. */
export function assuranceLevel(page: Page): Promise<string | null | undefined> {
  return page.evaluate(async () => {
    const { data } = await window.club.auth.mfa.getAuthenticatorAssuranceLevel()
    return data?.currentLevel
  })
}
