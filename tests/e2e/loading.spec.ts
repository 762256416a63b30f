import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open, settle } from './support.ts'

const OFFLINE = 'No connection'
const TYPED = 'Zoë Okafor'

const contactName = (page: Page) =>
  page.getByRole('form', { name: 'Contact form' }).getByLabel('Name')

/** Opens the home page on a phone, waits until it has all that it loads by itself, and types a name. */
async function begin(page: Page, url: string) {
  await settle(page)
  await open(page, url)
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
  await page.waitForLoadState('networkidle')
  // Not with the keyboard, since the focus loads the form's code.
  await contactName(page).evaluate((field: HTMLInputElement, text) => {
    field.value = text
    field.dispatchEvent(new Event('input', { bubbles: true }))
  }, TYPED)
}

/** What loads a part of the site when it is first used: its file, how it is used, and what then is there. */
const PARTS = [
  {
    name: 'the menu',
    file: 'mobile-menu',
    use: (page: Page) => page.getByRole('button', { name: 'Open menu' }).click(),
    shown: (page: Page) => page.getByRole('dialog').getByRole('link', { name: 'FAQ' }),
  },
  {
    name: 'the chat',
    file: 'chat-panel',
    use: (page: Page) => page.getByRole('button', { name: /^Open chat/ }).click(),
    shown: (page: Page) => page.getByPlaceholder('Type your message...'),
  },
  {
    name: 'the contact form',
    file: 'form-control',
    use: (page: Page) => page.getByRole('button', { name: 'Book a demo' }).last().click(),
    shown: (page: Page) => page.locator('#contact').getByText('Please fill in this field.').first(),
  },
  {
    name: 'a page',
    file: 'about',
    use: (page: Page) => page.getByRole('contentinfo').getByRole('link', { name: 'About' }).click(),
    shown: (page: Page) => page.getByRole('heading', { name: 'Our Journey' }),
  },
]

test.use({ viewport: { width: 360, height: 740 } })

for (const { name, file, use, shown } of PARTS) {
  test(`without a network, ${name} says so, and comes with the network`, async ({
    page,
    context,
    server,
  }) => {
    await begin(page, server.access.url)
    await context.setOffline(true)
    await use(page)
    await expect(page.getByText(OFFLINE)).toBeVisible()
    await expect(contactName(page)).toHaveValue(TYPED)
    await context.setOffline(false)
    await use(page)
    await expect(shown(page)).toBeVisible()
  })

  test(`a new version of the site is loaded for ${name}, with what was typed`, async ({
    page,
    server,
  }) => {
    await begin(page, server.access.url)
    let isNew = false
    await page.route(new RegExp(`/assets/${file}-[^/]+\\.js$`), (route) =>
      isNew ? route.continue() : route.fulfill({ status: 404 }),
    )
    page.on('request', (request) => (isNew ||= request.isNavigationRequest()))
    const reloaded = page.waitForEvent('load')
    await use(page)
    await reloaded
    if (file === 'about') {
      await expect(shown(page)).toBeVisible()
      await page.goBack()
    }
    await expect(contactName(page)).toHaveValue(TYPED)
    await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
    await use(page)
    await expect(shown(page)).toBeVisible()
  })
}

test('a file that stays away does not load the page again and again', async ({ page, server }) => {
  await begin(page, server.access.url)
  await page.route(/\/assets\/chat-panel-/, (route) => route.fulfill({ status: 404 }))
  const chat = page.getByRole('button', { name: /^Open chat/ })
  const reloaded = page.waitForEvent('load')
  await chat.click()
  await reloaded
  await chat.click()
  await expect(page.getByText('This part of the page could not be loaded')).toBeVisible()
  await expect(contactName(page)).toHaveValue(TYPED)
})

test('the newsletter can be sent although its code comes late, and says if it cannot', async ({
  page,
  context,
  server,
}) => {
  await begin(page, server.access.url)
  await context.setOffline(true)
  const form = page.getByRole('form', { name: 'Insights, once a month' })
  await form.getByLabel('Email address').fill('fan@club.example')
  await form.getByRole('checkbox').check()
  await form.getByRole('button', { name: 'Subscribe' }).click()
  await expect(page.getByText(OFFLINE)).toBeVisible()
  await expect(form.getByLabel('Email address')).toHaveValue('fan@club.example')
})

test('a toast needs nothing that is not there', async ({ page, context, server }) => {
  await begin(page, server.access.url)
  await page.getByRole('button', { name: /^Open chat/ }).click()
  await page.getByPlaceholder('Type your message...').fill('Anybody?')
  await context.setOffline(true)
  await page.keyboard.press('Enter')
  await expect(page.getByText('Could not get a response. Please try again.')).toBeVisible()
  await expect(contactName(page)).toHaveValue(TYPED)
})

test('the popup stays away without a network, and everything else stays', async ({
  page,
  context,
  server,
}) => {
  await page.addInitScript(() => localStorage.setItem('cookieConsent', 'declined'))
  await open(page, server.access.url)
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
  await page.waitForLoadState('networkidle')
  await context.setOffline(true)
  const failed = page.waitForEvent('console', (message) => message.text().includes('LoadError'))
  await page.evaluate(() => {
    document.dispatchEvent(new MouseEvent('mouseleave', { clientY: 0 }))
  })
  await failed
  await expect
    .poll(() => page.evaluate(() => localStorage.getItem('newsletter_popup_interacted')))
    .toBe('true')
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
  await context.setOffline(false)
  await expect(page.getByRole('dialog', { name: /^Stay Ahead of the Game/ })).toBeVisible()
})

test('a page whose scripts are gone is loaded once more', async ({ page, server }) => {
  await settle(page)
  let requests = 0
  await page.route(/\/assets\/start-/, (route) => {
    requests += 1
    return requests === 1 ? route.fulfill({ status: 404 }) : route.continue()
  })
  await open(page, server.access.url)
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
})
