import { Inbox } from '../../support/inbox.ts'
import { expect, test } from '../fixtures.ts'
import { isSignedIn, member, newAddress, PASSWORD, signIn } from './club.ts'

test('who signs up opens the link in the mail and is signed in', async ({ page, server, club }) => {
  const email = newAddress()
  await page.goto(`${club.origin}/implicit`)
  await expect(page.getByRole('status')).toHaveText('Signed out')
  const error = await page.evaluate(
    async ([email, password]) => {
      const options = { emailRedirectTo: location.href }
      return (await window.club.auth.signUp({ email, password, options })).error
    },
    [email, PASSWORD] as const,
  )
  expect(error).toBeNull()
  await expect(page.getByRole('status')).toHaveText('Signed out')

  const { link } = await new Inbox(server.inboxUrl).newest(email)
  await page.goto(link)
  await isSignedIn(page, email)
  expect(new URL(page.url()).pathname).toBe('/implicit')
  expect(new URL(page.url()).hash).toBe('')
  await page.reload()
  await isSignedIn(page, email)
})

test('a link that was used says so', async ({ page, server, club }) => {
  const email = await member(server)
  await page.goto(`${club.origin}/implicit`)
  await page.evaluate(async (email) => {
    await window.club.auth.signInWithOtp({ email, options: { emailRedirectTo: location.href } })
  }, email)
  const { link } = await new Inbox(server.inboxUrl).newest(email)
  await page.goto(link)
  await isSignedIn(page, email)
  await page.goto(link)
  expect(page.url()).toContain('error_code=otp_expired')
})

test('a magic link signs in the browser that asked for it, and no other', async ({
  page,
  server,
  club,
  browser,
}) => {
  const email = await member(server)
  const ask = () =>
    page.evaluate(async (email) => {
      const options = { emailRedirectTo: location.href }
      const { error } = await window.club.auth.signInWithOtp({ email, options })
      if (error !== null) throw error
    }, email)
  await page.goto(`${club.origin}/pkce`)
  await ask()
  const inbox = new Inbox(server.inboxUrl)
  const elsewhere = await browser.newContext()
  const other = await elsewhere.newPage()
  await other.goto((await inbox.newest(email)).link)
  expect(new URL(other.url()).searchParams.has('code')).toBe(true)
  await expect(other.getByRole('status')).toHaveText('Signed out')
  await elsewhere.close()

  await ask()
  await page.goto((await inbox.newest(email)).link)
  await isSignedIn(page, email)
  expect(new URL(page.url()).search).toBe('')
})

test('who forgot the password chooses a new one', async ({ page, server, club }) => {
  const email = await member(server)
  await page.goto(`${club.origin}/pkce`)
  await page.evaluate(async (email) => {
    await window.club.auth.resetPasswordForEmail(email, { redirectTo: location.href })
  }, email)
  await page.goto((await new Inbox(server.inboxUrl).newest(email)).link)
  await isSignedIn(page, email)
  await expect(page.getByText('PASSWORD_RECOVERY').first()).toBeVisible()
  const password = 'a password that I remember'
  const answers = await page.evaluate(
    async ({ email, password, old }) => {
      const { auth } = window.club
      const updated = await auth.updateUser({ password })
      await auth.signOut()
      const before = await auth.signInWithPassword({ email, password: old })
      const after = await auth.signInWithPassword({ email, password })
      return [updated, before, after].map(({ error }) => error?.code ?? 'ok')
    },
    { email, password, old: PASSWORD },
  )
  expect(answers).toEqual(['ok', 'invalid_credentials', 'ok'])
})

test('an identity is linked at the provider', async ({ page, server, club, provider }) => {
  const email = await member(server)
  const elsewhere = newAddress()
  await page.goto(`${club.origin}/pkce`)
  await signIn(page, email)
  // Not awaited in the page, since the browser leaves the page before the promise resolves.
  await page.evaluate(() => {
    const options = { redirectTo: location.href }
    void window.club.auth.linkIdentity({ provider: 'keycloak', options })
  })
  await page.waitForURL(`${provider.url}/**`)
  await page.getByLabel('Address').fill(elsewhere)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${club.origin}/**`)
  await isSignedIn(page, email)
  await expect
    .poll(() =>
      page.evaluate(async () => {
        const { data } = await window.club.auth.getUserIdentities()
        return data?.identities.map((identity) => identity.identity_data?.email as string)
      }),
    )
    .toEqual([email, elsewhere])
})

test('who is known at a provider signs in there', async ({ page, server, club, provider }) => {
  const email = newAddress()
  await page.goto(`${club.origin}/implicit`)
  await page.evaluate(() => {
    const options = { redirectTo: location.href }
    void window.club.auth.signInWithOAuth({ provider: 'keycloak', options })
  })
  await page.waitForURL(`${provider.url}/**`)
  await page.getByLabel('Address').fill(email)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await isSignedIn(page, email)
  const found = await server.psql(`select email from auth.users where email = '${email}'`)
  expect(found).toBe(email)
})
