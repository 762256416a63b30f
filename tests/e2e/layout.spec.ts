import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open, SCREENS, settle } from './support.ts'

const [PHONE] = SCREENS as [(typeof SCREENS)[0]]

/** The most bytes that the demo's video may have. */
const VIDEO_LIMIT = 500_000

/** Waits until the lists of the home page are there, with the pictures' places. */
async function lists(page: Page) {
  for (const name of ['Experts', 'Articles'])
    await expect(page.getByRole('list', { name }).getByRole('listitem').first()).toBeAttached()
  await expect(page.locator('#faq h3').first()).toBeAttached()
  // All sections are laid out, one per frame.
  await expect(page.locator('[data-layout=later]')).toHaveCount(0)
}

test.describe('on a phone', () => {
  test.use({ viewport: PHONE })

  test('the home page is at most 16 screens long, with every entry in it', async ({
    page,
    server,
  }) => {
    await settle(page)
    await open(page, server.access.url)
    await lists(page)
    const height = () => page.evaluate(() => document.documentElement.scrollHeight)
    await expect.poll(height).toBeLessThanOrEqual(16 * PHONE.height)

    const count = async (table: string) =>
      Number(await server.psql(`select count(*) from public.${table} where is_visible`))
    await expect(page.locator('#blog li')).toHaveCount(await count('blog_posts'))
    await expect(page.locator('#faq h3')).toHaveCount(await count('faqs'))
    const experts = await server.psql(
      `select count(*) from public.testimonial_page_orders where page_name = 'home'`,
    )
    await expect(page.locator('#testimonials li')).toHaveCount(Number(experts))
  })

  test('rows to swipe are scrolled with the arrow keys', async ({ page, server }) => {
    await settle(page)
    await open(page, server.access.url)
    await lists(page)
    for (const name of ['Experts', 'Articles']) {
      const row = page.getByRole('list', { name })
      await row.focus()
      await page.keyboard.press('ArrowRight')
      await expect.poll(() => row.evaluate(({ scrollLeft }) => scrollLeft)).toBeGreaterThan(0)
    }
  })

  test('eight questions are shown, and the others after a tap', async ({ page, server }) => {
    await settle(page)
    await open(page, server.access.url)
    await lists(page)
    const questions = page.locator('#faq h3')
    const shown = () => questions.filter({ visible: true }).count()
    expect(await shown()).toBe(8)
    const all = await questions.count()
    await page.getByRole('button', { name: `Show all ${String(all)} questions` }).click()
    expect(await shown()).toBe(all)
    await expect(questions.nth(8).getByRole('button')).toBeFocused()
  })

  test('a question that is not shown yet is shown once it is found', async ({ page, server }) => {
    await settle(page)
    await open(page, server.access.url)
    await lists(page)
    const last = page.locator('#faq h3').last()
    await expect(last).toBeHidden()
    await page.waitForLoadState('networkidle')
    // The browser shows the target of a link in the same way as what find-in-page finds.
    await last.locator('button').evaluate(({ id }) => window.location.assign(`#${id}`))
    await expect(last).toBeVisible()
    await expect(page.locator('#faq h3').filter({ visible: true })).toHaveCount(
      await page.locator('#faq h3').count(),
    )
  })
})

test('the cookie banner leaves the first screen’s button free', async ({ page, server }) => {
  for (const [width, height] of [
    [360, 640],
    [375, 667],
    [390, 844],
    [768, 1024],
    [1024, 768],
    [1280, 720],
    [1440, 900],
    [1920, 1080],
  ] as const) {
    await page.setViewportSize({ width, height })
    await open(page, server.access.url)
    const banner = page.getByRole('region', { name: 'Cookie Policy' })
    await expect(banner).toBeVisible()
    await expect
      .poll(() => banner.evaluate((element) => element.getAnimations().length))
      .toBeLessThanOrEqual(0)
    const discover = await page.getByRole('link', { name: 'Discover' }).boundingBox()
    const over = await banner.boundingBox()
    if (discover === null || over === null) throw new Error('button or banner are not there')
    const isBeside = discover.x >= over.x + over.width
    const isAbove = discover.y + discover.height <= over.y
    expect(isBeside || isAbove, `${String(width)} × ${String(height)}`).toBe(true)
  }
})

test('a demo can be booked from the header of every page, at every width', async ({
  page,
  server,
}) => {
  await settle(page)
  for (const [path, width] of [
    ['/', 360],
    ['/about', 768],
    ['/blog/beyond-ads', 1280],
  ] as const) {
    await page.setViewportSize({ width, height: 740 })
    await open(page, server.access.url + path)
    const demo = page.getByRole('banner').getByRole('link', { name: 'Book a demo' })
    await page.evaluate(() => window.scrollTo(0, 900))
    await expect(demo).toBeInViewport({ ratio: 1 })
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - window.innerWidth,
    )
    expect(overflow).toBeLessThanOrEqual(0)
    await demo.click()
    await expect(page).toHaveURL(/\/#contact$/)
    await expect(page.locator('#contact')).toBeInViewport()
  }
})

/** Returns the words that lie below the part of the chat's button that is on the screen. */
function wordsBelowChat(page: Page) {
  return page.evaluate(() => {
    const button = document.querySelector('[aria-label^="Open chat"]')
    if (!button) throw new Error('there is no button')
    const box = button.getBoundingClientRect()
    const texts = document.createTreeWalker(
      document.querySelector('#root') ?? document.body,
      NodeFilter.SHOW_TEXT,
    )
    const found: string[] = []
    while (texts.nextNode()) {
      const parent = texts.currentNode.parentElement
      if (
        !parent ||
        button.contains(parent) ||
        !parent.checkVisibility({ visibilityProperty: true })
      )
        continue
      const range = document.createRange()
      range.selectNodeContents(texts.currentNode)
      const isBelow = [...range.getClientRects()].some(
        ({ left, right, top, bottom }) =>
          Math.max(left, box.left) < Math.min(right, box.right, window.innerWidth) &&
          top < box.bottom &&
          bottom > box.top,
      )
      if (isBelow && !parent.closest('.sr-only')) found.push(texts.currentNode.textContent ?? '')
    }
    return found
  })
}

for (const screen of SCREENS)
  test(`the chat’s button lies over no text of what has been scrolled to, ${String(screen.width)} px`, async ({
    page,
    server,
  }) => {
    await settle(page)
    await page.setViewportSize(screen)
    for (const path of ['/', '/blog/beyond-ads']) {
      await open(page, server.access.url + path)
      await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
      for (const top of [700, 1500, 2600, 3700, 5200]) {
        await page.evaluate((y) => window.scrollTo({ top: y, behavior: 'instant' }), top)
        await expect.poll(() => wordsBelowChat(page)).toEqual([])
      }
    }
  })

test('an article is printed as an article', async ({ page, server }) => {
  await settle(page)
  await open(page, `${server.access.url}/blog/beyond-ads`)
  await expect(page.locator('article p').nth(4)).toBeVisible()
  await page.emulateMedia({ media: 'print' })
  await expect(page.locator('article h1')).toBeVisible()
  for (const part of [
    page.getByRole('banner'),
    page.getByRole('contentinfo'),
    page.getByRole('link', { name: 'Back to Articles' }),
    page.getByRole('link', { name: 'Book a demo' }),
  ])
    await expect(part.filter({ visible: true })).toHaveCount(0)
  const callout = page.locator('article aside').first()
  expect(await callout.evaluate((element) => getComputedStyle(element).color)).toBe('rgb(0, 0, 0)')
})

test('the demo’s video is no larger than the phone that shows it', async ({ request, server }) => {
  for (const file of ['demo-20250514.webm', 'demo-20250514.mp4']) {
    const response = await request.get(`${server.access.url}/storage/v1/object/public/app/${file}`)
    expect(response.status()).toBe(200)
    expect((await response.body()).byteLength, file).toBeLessThanOrEqual(VIDEO_LIMIT)
  }
})
