import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { layoutEnd, open, settle } from './support.ts'

const PHONE = { width: 360, height: 740 }

const scrolled = (page: Page) => page.evaluate(() => Math.round(window.scrollY))

/** Holds the scripts of the page back until the returned function is called. */
async function holdScripts(page: Page) {
  let release: () => void = () => undefined
  const isReleased = new Promise<void>((resolve) => (release = resolve))
  await page.route(/\/assets\/start-/, async (route) => {
    await isReleased
    await route.continue()
  })
  return release
}

for (const viewport of [PHONE, { width: 1280, height: 800 }])
  test.describe(`at ${String(viewport.width)} px`, () => {
    test.use({ viewport })

    test('back from an article leads to where the visitor was', async ({ page, server }) => {
      await settle(page)
      await open(page, server.access.url)
      await expect(page.locator('#faq button').first()).toBeAttached()
      await layoutEnd(page)
      const link = page.locator('#blog').getByRole('link').first()
      await link.scrollIntoViewIfNeeded()
      const before = await scrolled(page)
      expect(before).toBeGreaterThan(1000)
      await link.click()
      await expect(page.getByRole('link', { name: 'Back to Articles' })).toBeVisible()
      await expect.poll(() => scrolled(page)).toBe(0)
      await page.goBack()
      await expect(link).toBeInViewport()
      await expect.poll(() => scrolled(page)).toBe(before)
      await page.goForward()
      await expect(page.getByRole('link', { name: 'Back to Articles' })).toBeVisible()
      await expect.poll(() => scrolled(page)).toBe(0)
    })

    test('a reload leads to where the visitor was, a new visit to the top', async ({
      page,
      server,
    }) => {
      await settle(page)
      await open(page, server.access.url)
      await layoutEnd(page)
      await page.locator('#faq').scrollIntoViewIfNeeded()
      const before = await scrolled(page)
      await page.reload()
      await expect.poll(() => scrolled(page)).toBe(before)
      await open(page, server.access.url)
      await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
      expect(await scrolled(page)).toBe(0)
    })
  })

test.describe('before the scripts have come', () => {
  test.use({ viewport: PHONE, contextOptions: { reducedMotion: 'no-preference' } })

  test('the headline is there, whole, and stays until the second is typed', async ({
    page,
    server,
  }) => {
    await settle(page)
    const release = await holdScripts(page)
    const [first = ''] = (
      await server.psql('select headline from hero_headlines where is_visible order by order_index')
    ).split('\n')
    await page.goto(server.access.url, { waitUntil: 'commit' })
    const headline = page.locator('h1 .caret-after')
    await expect(headline).toHaveText(first)
    await expect(headline).toBeVisible()
    // What the headline is from now on, as often as it changes.
    await page.evaluate(() => {
      const seen: string[] = []
      Object.assign(window, { seen })
      new MutationObserver(() => {
        const text = document.querySelector('h1 .caret-after')?.textContent
        if (text !== undefined && text !== seen.at(-1)) seen.push(text)
      }).observe(document.body, { subtree: true, childList: true, characterData: true })
    })
    release()
    const seen = () => page.evaluate(() => (window as unknown as { seen: string[] }).seen)
    await expect.poll(async () => (await seen()).length).toBeGreaterThan(3)
    expect((await seen()).slice(0, 3)).toEqual([first, first.slice(0, -1), first.slice(0, -2)])
  })

  test('what the visitor has scrolled stays when they come', async ({ page, server }) => {
    await settle(page)
    const release = await holdScripts(page)
    await page.goto(server.access.url, { waitUntil: 'commit' })
    await expect(page.locator('h1')).toBeVisible()
    await page.evaluate(() => window.scrollTo(0, 150))
    release()
    await expect(page.getByRole('contentinfo')).toBeAttached()
    await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
    expect(await scrolled(page)).toBe(150)
  })

  test('the first paragraph of an article is there, and stays until the text is', async ({
    page,
    server,
  }) => {
    const path = '/blog/beyond-broadcast'
    const release = await holdScripts(page)
    const text = await server.psql(`select content from blog_posts where link = '${path}'`)
    const [first = ''] = text.split(/\n\s*\n/)
    await page.goto(`${server.access.url}${path}`, { waitUntil: 'commit' })
    const paragraphs = page.getByRole('article').locator('p', { hasText: first })
    await expect(paragraphs).toBeVisible()
    const place = async () => (await paragraphs.boundingBox())?.y
    const before = await place()
    // The text is late: until it comes, the paragraph is where the server has put it.
    let send: () => void = () => undefined
    const sent = new Promise<void>((resolve) => (send = resolve))
    await page.route(/\/rest\/v1\/blog_posts/, async (route) => {
      await sent
      await route.continue()
    })
    release()
    await expect(page.getByRole('article').getByRole('status')).toBeAttached()
    await expect(page.getByRole('contentinfo')).toBeAttached()
    await expect(paragraphs).toBeVisible()
    expect(await place()).toBe(before)
    send()
    await expect(page.getByRole('article').getByRole('status')).toHaveCount(0)
    await expect(paragraphs).toHaveCount(1)
    expect(await place()).toBe(before)
  })

  test('the login is there, and what is typed into it stays', async ({ page, server }) => {
    const release = await holdScripts(page)
    await page.goto(`${server.access.url}/auth`, { waitUntil: 'commit' })
    await expect(page.getByRole('heading', { level: 1, name: 'Login' })).toBeVisible()
    await page.getByLabel('Password', { exact: true }).fill('secret words')
    await page.getByLabel('Email').first().fill('ada@club.example')
    await page.keyboard.press('Enter')
    release()
    await expect(page.getByRole('contentinfo')).toBeAttached()
    await expect(page.getByLabel('Email').first()).toHaveValue('ada@club.example')
    await expect(page.getByLabel('Email').first()).toBeFocused()
    await expect(page.getByLabel('Password', { exact: true })).toHaveValue('secret words')
    await expect(page.getByRole('button', { name: 'Log in' })).toBeEnabled()
    expect(page.url()).toBe(`${server.access.url}/auth`)
  })
})
