import { expect, test } from './fixtures.ts'

// The newsletter popup opens when a visitor scrolls, and would cover the form.
test.beforeEach(({ page }) =>
  page.addInitScript(() => localStorage.setItem('newsletter_popup_disabled', 'true')),
)

test('a contact request is kept for the team', async ({ page, server }) => {
  await page.goto(server.access.url)
  await page.locator('#contact').scrollIntoViewIfNeeded()
  const form = page.getByRole('form', { name: 'Contact form' })
  await form.getByLabel('Name').fill('Ada Lovelace')
  await form.getByLabel('Company').fill('Harbour Row FC')
  await form.getByLabel('Email').fill('ada@club.example')
  await form.getByLabel('Message').fill('We would like to see our app.')
  await form.getByRole('button', { name: 'Book a demo' }).click()
  await expect(page.getByText('Message received!')).toBeVisible()
  expect(
    await server.psql(
      "select company from public.contact_submissions where email = 'ada@club.example'",
    ),
  ).toBe('Harbour Row FC')
})

test('an application names the role that it is for', async ({ page, server }) => {
  await page.goto(`${server.access.url}/careers`)
  await page.locator('#job-application').scrollIntoViewIfNeeded()
  const form = page.getByRole('form', { name: 'Apply for a Position' })
  await form.getByLabel('Full Name').fill("Grace O'Hopper")
  await form.getByLabel('Email Address').fill('grace@sea.example')
  await form.getByLabel("Position You're Applying For").selectOption('Trust and Safety Lead')
  await form.getByRole('button', { name: 'Submit Application' }).click()
  await expect(
    page.getByText("Application submitted successfully! We'll be in touch soon."),
  ).toBeVisible()
  expect(
    await server.psql(
      "select job_role_title from public.job_applications where email = 'grace@sea.example'",
    ),
  ).toBe('Trust and Safety Lead')
})
