import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open } from './support.ts'

/** Returns what the page has put into the browser: the names of cookies and of both stores. */
async function stored(page: Page) {
  const cookies = await page.context().cookies()
  const kept = await page.evaluate(() => [
    ...Object.keys(localStorage),
    ...Object.keys(sessionStorage),
  ])
  return [...cookies.map(({ name }) => name), ...kept].sort()
}

test('nothing is kept of visitors who have not been asked', async ({ page, server }) => {
  for (const path of ['/', '/about', '/careers', '/blog/beyond-ads', '/cookies', '/auth']) {
    await open(page, server.access.url + path)
    await page.waitForLoadState('networkidle')
    expect(await stored(page), path).toEqual([])
  }
})

test('the choice alone is kept, and can be made again from the footer', async ({
  page,
  server,
}) => {
  await open(page, `${server.access.url}/imprint`)
  const banner = page.getByRole('region', { name: 'Cookie Policy' })
  const choice = () => page.evaluate(() => localStorage.getItem('cookieConsent'))
  await banner.getByRole('button', { name: 'Accept' }).click()
  await expect(banner).toHaveCount(0)
  expect(await choice()).toBe('accepted')
  expect(await stored(page)).toEqual(['cookieConsent', 'cookieConsentTime'])

  // Scrolling to the footer opens the newsletter popup, which would cover the banner.
  await page.evaluate(() => localStorage.setItem('newsletter_popup_interacted', 'true'))
  await page.getByRole('button', { name: 'Cookie Settings' }).click()
  await banner.getByRole('button', { name: 'Decline', exact: true }).click()
  await expect(banner).toHaveCount(0)
  expect(await choice()).toBe('declined')
  await page.reload()
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
  await expect(banner).toHaveCount(0)
})
