import type { Page, Route } from '@playwright/test'

import { totp } from '../../support/totp.ts'
import { expect, test } from '../fixtures.ts'
import { assuranceLevel, isSignedIn, member, signIn } from './club.ts'

test('an authenticator app is set up by its picture and raises the session', async ({
  page,
  server,
  club,
}) => {
  const email = await member(server)
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, email)
  expect(await assuranceLevel(page)).toBe('aal1')
  const { factorId, secret } = await page.evaluate(async () => {
    const { data, error } = await window.club.auth.mfa.enroll({ factorType: 'totp' })
    if (error !== null) throw error
    const picture = Object.assign(new Image(), { alt: 'QR code', src: data.totp.qr_code })
    document.body.append(picture)
    await picture.decode()
    return { factorId: data.id, secret: data.totp.secret }
  })
  await expect(page.getByRole('img', { name: 'QR code' })).toBeVisible()
  const verify = (code: string) =>
    page.evaluate(
      async (factor) => (await window.club.auth.mfa.challengeAndVerify(factor)).error?.code,
      { factorId, code },
    )
  expect(await verify(totp(secret))).toBeUndefined()
  expect(await assuranceLevel(page)).toBe('aal2')
  await page.reload()
  await isSignedIn(page, email)
  expect(await assuranceLevel(page)).toBe('aal2')
})

/** Lets requests of `pages` for a new token through only when each page has sent one. */
async function holdRefreshes(pages: Page[]): Promise<Set<string>> {
  const pending: Route[] = []
  const tokens = new Set<string>()
  for (const page of pages) {
    await page.route('**/token?grant_type=refresh_token', async (route) => {
      const { refresh_token } = route.request().postDataJSON() as { refresh_token: string }
      tokens.add(refresh_token)
      pending.push(route)
      if (pending.length === pages.length) {
        await Promise.all(pending.map((route) => route.continue()))
      }
    })
  }
  return tokens
}

test('two tabs that refresh at the same moment stay signed in', async ({
  page,
  context,
  server,
  club,
}) => {
  const email = await member(server)
  await page.goto(`${club.origin}/implicit`)
  await signIn(page, email)
  const other = await context.newPage()
  await other.goto(`${club.origin}/implicit`)
  await isSignedIn(other, email)

  const tokens = await holdRefreshes([page, other])
  const refresh = (tab: Page) =>
    tab.evaluate(async () => (await window.club.auth.refreshSession()).error?.name ?? 'refreshed')
  const outcomes = await Promise.all([refresh(page), refresh(other)])
  // A client drops its result if another tab has stored a new session meanwhile, and logs that.
  expect(outcomes).toContain('refreshed')
  expect(['refreshed', 'AuthRefreshDiscardedError']).toEqual(expect.arrayContaining(outcomes))
  expect(tokens.size).toBe(1)

  const rotations = `select count(*) filter (where revoked), count(*) filter (where not revoked)
    from auth.refresh_tokens where user_id = (select id::text from auth.users where email = '${email}')`
  expect(await server.psql(rotations)).toBe('1|1')
  for (const tab of [page, other]) {
    await isSignedIn(tab, email)
    const user = await tab.evaluate(async () => (await window.club.auth.getUser()).data.user?.email)
    expect(user).toBe(email)
  }
})

test('who signs out in one tab is signed out in the other', async ({
  page,
  context,
  server,
  club,
}) => {
  const email = await member(server)
  await page.goto(`${club.origin}/implicit`)
  const other = await context.newPage()
  await other.goto(`${club.origin}/implicit`)
  await signIn(page, email)
  await isSignedIn(other, email)
  await page.evaluate(() => window.club.auth.signOut())
  await expect(other.getByRole('status')).toHaveText('Signed out')
  // A browser keeps the storage of each tab's process up to date, but not at once.
  const session = () =>
    other.evaluate(async () => (await window.club.auth.getSession()).data.session)
  await expect.poll(session).toBeNull()
})
