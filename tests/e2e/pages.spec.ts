import { expect, test } from './fixtures.ts'
import { expectSound, open, SCREENS, settle } from './support.ts'

const PAGES = {
  '/': /^The first|^Terrace/,
  '/about': /^About Us \| /,
  '/careers': /^Careers \| /,
  '/privacy': /^Privacy Policy \| /,
  '/cookies': /^Cookie Policy \| /,
  '/imprint': /^Imprint \| /,
  '/blog/beyond-ads': /^Beyond Ads.* \| /,
  '/blog/beyond-broadcast': /^Beyond Broadcast.* \| /,
  '/blog/building-your-fortress': /^Building Your Fortress.* \| /,
  '/blog/engaging-gen-z': /^Engaging Gen Z.* \| /,
  '/blog/level-up-your-loyalty': /^Level Up Your Loyalty.* \| /,
  '/blog/owning-the-goal-line': /^Owning the Goal Line.* \| /,
  '/auth': /^Login \| /,
  '/no/such/page': /^Page Not Found \| /,
}

for (const [route, title] of Object.entries(PAGES)) {
  test(`${route} has its title, fits every screen and passes axe`, async ({ page, server }) => {
    await settle(page)
    await open(page, server.access.url + route)
    await expect(page).toHaveTitle(title)
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
    await page.waitForLoadState('networkidle')
    for (const viewport of SCREENS) {
      await page.setViewportSize(viewport)
      await expectSound(page)
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

test('banner, chat and popup pass axe, and close by keyboard', async ({ page, server }) => {
  await page.goto(`${server.access.url}/imprint`)
  await expect(page.getByRole('region', { name: 'Cookie Policy' })).toBeVisible()
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await expect(page.getByPlaceholder('Type your message...')).toBeFocused()
  await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
  await expectSound(page, '[role=dialog]', '[aria-labelledby=cookie-banner-heading]')
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'Open chat' })).toBeFocused()

  await page.mouse.move(400, 300)
  await page.evaluate(() => {
    document.dispatchEvent(new MouseEvent('mouseleave', { clientY: 0 }))
  })
  const popup = page.getByRole('dialog', { name: /^Stay Ahead of the Game/ })
  await expect(popup).toBeVisible()
  await expectSound(page, '[role=dialog]')
  await page.keyboard.press('Escape')
  await expect(popup).toHaveCount(0)
})
