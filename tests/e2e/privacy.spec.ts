import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { createUser, open } from './support.ts'

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

test('the cookie policy names everything that the site keeps, and nothing is kept for analysis', async ({
  page,
  server,
}) => {
  const names = new Set<string>()
  const remember = async () => {
    for (const name of await stored(page)) names.add(name)
  }
  await open(page, server.access.url)
  await page.getByRole('button', { name: 'Accept' }).click()
  await page.locator('#contact').scrollIntoViewIfNeeded()
  const popup = page.getByRole('dialog')
  await popup.getByRole('button', { name: 'Close' }).first().click()
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await page.getByPlaceholder('Type your message...').fill('Is there a licence fee?')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('log', { name: 'Messages' }).locator('time')).toHaveCount(3)
  await page.getByRole('button', { name: 'Close chat' }).click()

  const form = page.getByRole('form', { name: 'Contact form' })
  await form.getByLabel('Name').fill('Ada Lovelace')
  await form.getByLabel('Company').fill('Harbour Row FC')
  await form.getByLabel('Email').fill('ada@club.example')
  await form.getByLabel('Message').fill('We would like to see our app.')
  await remember()
  await form.getByRole('button', { name: 'Book a demo' }).click()
  await expect(page.getByText('Message received!')).toBeVisible()
  await remember()

  await createUser(server, 'cookies@terrace.example', 'correct horse battery', 'Cleo')
  await open(page, `${server.access.url}/auth`)
  await page.getByLabel('Email', { exact: true }).fill('cookies@terrace.example')
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(`${server.access.url}/`)
  await remember()

  await open(page, `${server.access.url}/cookies`)
  const policy = await page.getByRole('main').innerText()
  expect([...names].filter((name) => !policy.includes(name))).toEqual([])
  // All of what it took to get here.
  for (const name of ['cookieConsent', 'contact_submissions', 'csrf_token', 'terrace-auth'])
    expect(names).toContain(name)
  for (const name of ['terrace_visitor', 'terrace_visit', 'terrace_campaign'])
    expect(names).not.toContain(name)
})
