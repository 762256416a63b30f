import { expect, test } from './fixtures.ts'
import { createUser, expectSound, SCREENS, settle } from './support.ts'

const password = 'correct horse battery staple'

for (const viewport of SCREENS) {
  const width = String(viewport.width)

  test.describe(`at ${width} px`, () => {
    test.use({ viewport })
    test.beforeEach(({ page }) => settle(page))

    test('a user signs in, sees the profile and signs out', async ({ page, server }) => {
      const email = `ada-${width}@terrace.example`
      const id = await createUser(server, email, password, 'Ada Terrace')
      await server.psql(`insert into user_roles (user_id, role) values ('${id}', 'admin')`)
      await page.goto(`${server.access.url}/auth`)
      await page.getByLabel('Email', { exact: true }).fill(email)
      await page.getByLabel('Password', { exact: true }).fill('wrong')
      await page.getByRole('button', { name: 'Log in' }).click()
      await expect(
        page.getByText('Invalid email or password. Please check your credentials').first(),
      ).toBeVisible()
      await expectSound(page)

      await page.getByLabel('Password', { exact: true }).fill(password)
      await page.getByRole('button', { name: 'Log in' }).click()
      // The toast first, which goes away after some seconds.
      await expect(page.getByText('Successfully logged in!')).toBeVisible()
      await expect(page).toHaveURL(`${server.access.url}/`)

      await page.goto(`${server.access.url}/auth`)
      await expect(page.getByText('Ada Terrace')).toBeVisible()
      await expect(page.getByText('admin', { exact: true })).toBeVisible()
      await expect(page.getByRole('button', { name: 'Account Settings' })).toBeDisabled()
      await expectSound(page)
      await page.getByRole('button', { name: 'Logout' }).click()
      await expect(page.getByText('Logged out successfully')).toBeVisible()
      await expect(page.getByRole('button', { name: 'Log in' })).toBeVisible()
    })
  })
}

test.describe('a closed site', () => {
  test.beforeEach(async ({ page, server }) => {
    await settle(page)
    await server.psql("update settings set value = '1' where key = 'password_protection'")
  })
  test.afterEach(({ server }) =>
    server.psql("update settings set value = '0' where key = 'password_protection'"),
  )

  for (const viewport of SCREENS) {
    test(`asks for the password on every page, at ${String(viewport.width)} px`, async ({
      page,
      server,
    }) => {
      await page.setViewportSize(viewport)
      await page.goto(`${server.access.url}/imprint`)
      await expect(page).toHaveURL(/\/password$/)
      await expect(page.getByRole('heading', { name: 'Password Protected' })).toBeVisible()
      await expect(page.getByRole('region', { name: 'Cookie Policy' })).toHaveCount(0)
      await expectSound(page)
    })
  }

  test('refuses a wrong password, and leads back with the right one', async ({ page, server }) => {
    await createUser(server, 'site-access@terrace.example', password, 'Site access')
    await page.goto(`${server.access.url}/imprint`)
    const field = page.getByLabel('Password', { exact: true })
    await field.fill('wrong')
    await page.getByRole('button', { name: 'Access Site' }).click()
    await expect(page.getByText('Access Denied')).toBeVisible()
    await expect(page.getByText('The password you entered is incorrect.').first()).toBeVisible()
    await expect(field).toHaveValue('')
    await field.fill(password)
    await page.getByRole('button', { name: 'Access Site' }).click()
    await expect(page).toHaveURL(`${server.access.url}/imprint`)
    await expect(page.getByRole('heading', { level: 1, name: 'Imprint' })).toBeVisible()
  })
})
