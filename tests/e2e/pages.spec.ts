import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'

const PAGES = {
  '/': /^The first|^Terrace/,
  '/about': /^About Us \| /,
  '/careers': /^Careers \| /,
  '/privacy': /^Privacy Policy \| /,
  '/cookies': /^Cookie Policy \| /,
  '/imprint': /^Imprint \| /,
  '/blog/beyond-broadcast': /^Beyond Broadcast.* \| /,
  '/auth': /^Login \| /,
}

/** Nothing floats over the page until its test wants it to. */
async function settle(page: Page) {
  await page.addInitScript(() => {
    localStorage.setItem('cookieConsent', 'declined')
    localStorage.setItem('newsletter_popup_disabled', 'true')
  })
}

async function violations(page: Page) {
  const { violations: found } = await new AxeBuilder({ page }).analyze()
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

for (const width of [360, 1280]) {
  test.describe(`at ${String(width)} px`, () => {
    test.use({ viewport: { width, height: 800 } })

    for (const [route, title] of Object.entries(PAGES)) {
      test(`${route} has its title, fits the screen and passes axe`, async ({ page, server }) => {
        await settle(page)
        await page.goto(server.access.url + route)
        await expect(page).toHaveTitle(title)
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
        await page.waitForLoadState('networkidle')
        const overflow = await page.evaluate(
          () => document.documentElement.scrollWidth - window.innerWidth,
        )
        expect(overflow).toBeLessThanOrEqual(0)
        expect(await violations(page)).toEqual([])
      })
    }
  })
}

test('the chosen role is preselected in the form', async ({ page, server }) => {
  await settle(page)
  await page.goto(`${server.access.url}/careers`)
  const role = page.locator('#jobs li').first()
  const title = await role.getByRole('heading').innerText()
  await role.getByRole('button').click()
  const chosen = page.getByLabel("Position You're Applying For")
  await expect(chosen.locator('option:checked')).toHaveText(title.replaceAll('\n', ' '))
})

test('the newsletter takes an address once', async ({ page, server }) => {
  await settle(page)
  await page.route('**/api.ipify.org/**', (route) => route.fulfill({ json: { ip: '203.0.113.9' } }))
  await page.goto(`${server.access.url}/imprint`)
  const form = page.getByRole('form', { name: 'Insights, once a month' })
  const subscribe = async () => {
    await form.getByLabel('Email address').fill(' Once@Club.Example')
    await form.getByRole('checkbox').check()
    await form.getByRole('button', { name: 'Subscribe' }).click()
  }
  await page.getByRole('contentinfo').scrollIntoViewIfNeeded()
  await subscribe()
  await expect(page.getByText('Successfully subscribed to newsletter!')).toBeVisible()
  const stored = await server.psql(
    "select email, ip_address, consent_given from newsletter_subscriptions where email like 'once%'",
  )
  expect(stored).toBe('once@club.example|203.0.113.9|t')
  await expect(form.getByRole('button', { name: 'Subscribe', exact: true })).toBeVisible()
  await subscribe()
  await expect(page.getByText('This email is already subscribed to our newsletter.')).toBeVisible()
})

test('a closed site asks for the password on every page', async ({ page, server }) => {
  await settle(page)
  await server.psql("update settings set value = '1' where key = 'password_protection'")
  try {
    await page.goto(`${server.access.url}/imprint`)
    await expect(page).toHaveURL(/\/password$/)
    await expect(page.getByRole('heading', { name: 'Password Protected' })).toBeVisible()
    await expect(page.getByRole('region', { name: 'Cookie Policy' })).toHaveCount(0)
    expect(await violations(page)).toEqual([])
  } finally {
    await server.psql("update settings set value = '0' where key = 'password_protection'")
  }
})

test('banner, chat and popup pass axe, and close by keyboard', async ({ page, server }) => {
  await page.goto(server.access.url)
  await expect(page.getByRole('region', { name: 'Cookie Policy' })).toBeVisible()
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await expect(page.getByPlaceholder('Type your message...')).toBeFocused()
  await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'Open chat' })).toBeFocused()

  await page.mouse.move(400, 300)
  await page.evaluate(() => {
    document.dispatchEvent(new MouseEvent('mouseleave', { clientY: 0 }))
  })
  const popup = page.getByRole('dialog', { name: /^Stay Ahead of the Game/ })
  await expect(popup).toBeVisible()
  expect(await violations(page)).toEqual([])
  await page.keyboard.press('Escape')
  await expect(popup).toHaveCount(0)
})
