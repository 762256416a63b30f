import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { expectSound, SCREENS, settle } from './support.ts'

/** Responds to requests of the API in place of the server; the other requests go through. */
function respond(page: Page, path: string, status: number, json: object) {
  return page.route(`**${path}*`, (route) =>
    route.request().method() === 'OPTIONS' ? route.fallback() : route.fulfill({ status, json }),
  )
}

const down = (page: Page, path: string) => page.route(`**${path}**`, (route) => route.abort())

async function fillContact(page: Page) {
  await page.locator('#contact').scrollIntoViewIfNeeded()
  const form = page.getByRole('form', { name: 'Contact form' })
  await form.getByLabel('Name').first().fill('Zoë Okafor')
  await form.getByLabel('Company').fill('Harbour Row FC')
  await form.getByLabel('Email').fill('zoe@club.example')
  await form.getByRole('button', { name: 'Book a demo' }).click()
  return form
}

async function subscribe(page: Page, email: string) {
  await page.route('**/api.ipify.org/**', (route) => route.abort())
  const form = page.getByRole('form', { name: 'Insights, once a month' })
  await page.getByRole('contentinfo').scrollIntoViewIfNeeded()
  await form.getByLabel('Email address').fill(email)
  await form.getByRole('checkbox').check()
  await form.getByRole('button', { name: 'Subscribe' }).click()
}

for (const viewport of SCREENS) {
  test.describe(`at ${String(viewport.width)} px`, () => {
    test.use({ viewport })
    test.beforeEach(({ page }) => settle(page))

    test('a page whose server has gone says so in every section', async ({ page, server }) => {
      await down(page, '/rest/v1/')
      await page.goto(server.access.url)
      await page.locator('#blog').scrollIntoViewIfNeeded()
      const failed = 'Failed to load blog posts. Please try again later.'
      await expect(page.locator('#blog').getByText(failed)).toBeVisible()
      await page.locator('#faq').scrollIntoViewIfNeeded()
      await expect(
        page.locator('#faq').getByText('Failed to load FAQs. Please try again later.'),
      ).toBeVisible()
      await page.getByRole('contentinfo').scrollIntoViewIfNeeded()
      await expect(page.getByText('Failed to load recent posts.')).toBeVisible()
      await expectSound(page, '#blog', '#faq', 'footer')

      await page.unroute('**/rest/v1/**')
      await page.locator('#blog').getByRole('button', { name: 'Try Again' }).click()
      await page.locator('#blog').scrollIntoViewIfNeeded()
      await expect(page.locator('#blog').getByRole('article').first()).toBeVisible()
    })

    test('slow responses hold their places', async ({ page, server }) => {
      const pending: (() => void)[] = []
      let isReleased = false
      await page.route('**/rest/v1/job_openings*', async (route) => {
        if (!isReleased) await new Promise<void>((resolve) => void pending.push(resolve))
        await route.continue()
      })
      await page.goto(`${server.access.url}/careers`)
      await page.locator('#jobs').scrollIntoViewIfNeeded()
      await expect(page.locator('#jobs').getByRole('status')).toBeAttached()
      await expectSound(page, '#jobs')
      isReleased = true
      for (const release of pending) release()
      await expect(page.locator('#jobs').getByRole('button').first()).toBeVisible()
    })

    test('a contact form keeps what was typed, and is empty once it is taken', async ({
      page,
      server,
    }) => {
      await respond(page, '/functions/v1/contact-notification', 500, { error: 'no' })
      await page.goto(`${server.access.url}/#contact`)
      const form = await fillContact(page)
      await expect(page.getByText('Something went wrong')).toBeVisible()
      await expect(form.getByLabel('Company')).toHaveValue('Harbour Row FC')
      await expectSound(page, '#contact')

      await page.unroute('**/functions/v1/contact-notification*')
      await respond(page, '/functions/v1/contact-notification', 200, { success: true })
      await form.getByRole('button', { name: 'Book a demo' }).click()
      await expect(page.getByText('Message received!')).toBeVisible()
      await expect(form.getByLabel('Company')).toHaveValue('')
    })

    test('an application that is refused is kept, and says what is wrong', async ({
      page,
      server,
    }) => {
      await respond(page, '/functions/v1/contact-notification', 400, { error: 'no' })
      await page.goto(`${server.access.url}/careers`)
      await page.locator('#job-application').scrollIntoViewIfNeeded()
      const form = page.getByRole('form', { name: 'Apply for a Position' })
      await form.getByLabel('Full Name').fill('X')
      await form.getByRole('button', { name: 'Submit Application' }).click()
      await expect(form.getByText('Name must be at least 2 characters')).toBeVisible()
      await expectSound(page, '#job-application')

      await form.getByLabel('Full Name').fill('Zoë O’Brien-Li')
      await form.getByLabel('Email Address').fill('zoe@mail.example')
      await form.getByRole('button', { name: 'Submit Application' }).click()
      await expect(
        page.getByText('Failed to submit application. Please try again later.'),
      ).toBeVisible()
      await expect(form.getByLabel('Email Address')).toHaveValue('zoe@mail.example')
    })

    test('the newsletter tells its failures apart', async ({ page, server }) => {
      const insert = '/rest/v1/newsletter_subscriptions'
      await respond(page, insert, 401, { code: 'PGRST301', message: 'no' })
      await page.goto(`${server.access.url}/imprint`)
      await subscribe(page, 'fan@club.example')
      await expect(
        page.getByText('Newsletter service is temporarily unavailable. Please try again later.'),
      ).toBeVisible()
      await page.unroute(`**${insert}*`)
      await down(page, insert)
      await subscribe(page, 'fan@club.example')
      await expect(
        page.getByText('Failed to subscribe. Please check your connection and try again.'),
      ).toBeVisible()
    })

    test('a chat without its function apologises and tries again', async ({ page, server }) => {
      await respond(page, '/functions/v1/chat-ai', 500, {})
      await page.goto(`${server.access.url}/imprint`)
      await page.getByRole('button', { name: /^Open chat/ }).click()
      await page.getByPlaceholder('Type your message...').fill('Anybody?')
      await page.keyboard.press('Enter')
      await expect(
        page.getByText("I'm sorry, I'm having trouble connecting right now."),
      ).toBeVisible()
      const retry = page.getByRole('button', { name: 'Connection issue. Try again?' })
      await expect(retry).toBeVisible()
      await expectSound(page, '[role=dialog]')
      await page.unroute('**/functions/v1/chat-ai*')
      await respond(page, '/functions/v1/chat-ai', 200, { response: '**Here** I am.' })
      await retry.click()
      await expect(page.getByText('Here', { exact: true })).toBeVisible()
    })
  })
}

test('an article that cannot be read keeps its title', async ({ page, server }) => {
  await settle(page)
  await respond(page, '/rest/v1/blog_posts', 500, { code: 'XX000', message: 'no' })
  await page.goto(`${server.access.url}/blog/beyond-ads`)
  await expect(page.getByText('Failed to load blog content')).toBeVisible()
  await expect(page.getByRole('heading', { level: 1, name: 'Beyond Ads' })).toBeVisible()
})

test('the popup tells that an address is on the list already', async ({ page, server }) => {
  await page.addInitScript(() => localStorage.setItem('cookieConsent', 'declined'))
  await page.route('**/api.ipify.org/**', (route) => route.abort())
  await server.psql(
    "insert into newsletter_subscriptions (email, consent_given) values ('twice@club.example', true)",
  )
  await page.goto(`${server.access.url}/imprint`)
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
  await page.evaluate(() => {
    document.dispatchEvent(new MouseEvent('mouseleave', { clientY: 0 }))
  })
  const popup = page.getByRole('dialog', { name: /^Stay Ahead of the Game/ })
  await popup.getByLabel('Email address').fill('twice@club.example')
  await popup.getByRole('checkbox').check()
  await popup.getByRole('button', { name: 'Subscribe' }).click()
  await expect(page.getByText('Already subscribed', { exact: true })).toBeVisible()
  await expect(popup).toBeVisible()
})
