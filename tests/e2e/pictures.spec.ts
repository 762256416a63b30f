import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open, settle, timeline } from './support.ts'

const PHONE = { viewport: { width: 412, height: 823 }, deviceScaleFactor: 1.75 }

/** Returns the answers with pictures of the storage that the page gets from here on: their paths, types and sizes. */
function answers(page: Page) {
  const responses: { path: string; width: number; type: string; status: number }[] = []
  page.on('response', (answer) => {
    const url = new URL(answer.url())
    if (!/^\/storage\/v1\/(object|render).*\.(png|webp)$/.test(url.pathname)) return
    responses.push({
      path: url.pathname,
      width: Number(url.searchParams.get('width')),
      type: answer.headers()['content-type'] ?? '',
      status: answer.status(),
    })
  })
  return responses
}

test.describe('on a phone', () => {
  test.use(PHONE)

  test('pictures come in its width and a newer format, the first one once', async ({
    page,
    server,
  }) => {
    await settle(page)
    const shifts = await timeline(page, 'layout-shift')
    const responses = answers(page)
    await open(page, server.access.url)
    const poster = page.locator('#hero img')
    await expect(poster).toHaveJSProperty('complete', true)
    // Content that comes while a later section is seen moves what is above it, which Chromium counts although it is unseen.
    await page.waitForLoadState('networkidle')
    await page.locator('#blog').scrollIntoViewIfNeeded()
    const card = page.locator('#blog article img').first()
    // The debug build renders pictures slowly.
    await expect
      .poll(() => card.evaluate((image: HTMLImageElement) => image.naturalWidth), {
        timeout: 40_000,
      })
      .toBeGreaterThan(0)
    await page.waitForLoadState('networkidle')

    const first = responses.filter(({ path }) => path.endsWith('/demo-20250514.webp'))
    expect(first.map(({ width }) => width)).toEqual([400])
    for (const { path, type, status } of responses) {
      expect(path).toContain('/render/image/public/')
      expect(status, path).toBe(200)
      expect(type, path).toMatch(/^image\/(avif|webp)$/)
    }
    const cards = responses.filter(({ path }) => path.includes('/blog-images/'))
    expect(cards.map(({ width }) => width).every((width) => width > 0 && width <= 960)).toBe(true)
    const shifted = await shifts()
    const sum = shifted.reduce((sum, { value }) => sum + (value ?? 0), 0)
    expect(sum, JSON.stringify(shifted)).toBeLessThan(0.02)
  })

  test('an article’s picture is the one that its head preloads', async ({ page, server }) => {
    await settle(page)
    const responses = answers(page)
    await open(page, `${server.access.url}/blog/beyond-ads`)
    await expect(page.locator('article header + div img')).toHaveJSProperty('complete', true)
    await page.waitForLoadState('networkidle')
    const pictures = responses.filter(({ path }) => path.endsWith('/Beyond-Ads.png'))
    expect(pictures.map(({ width }) => width)).toEqual([720])
  })
})

test('where nothing is rendered the files themselves are shown', async ({ page, server }) => {
  await settle(page)
  await page.route('**/storage/v1/render/**', (route) =>
    route.fulfill({ status: 404, contentType: 'application/json', body: '{}' }),
  )
  await open(page, server.access.url)
  const poster = page.locator('#hero img')
  await expect
    .poll(() => poster.evaluate((image: HTMLImageElement) => image.currentSrc))
    .toMatch(/\/object\/public\/app\/demo-20250514\.webp(\?|$)/)
  await expect
    .poll(() => poster.evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBeGreaterThan(0)
})
