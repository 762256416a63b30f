import { expect, test } from './fixtures.ts'
import { open, SCREENS, settle } from './support.ts'

const [PHONE, DESK] = SCREENS as [(typeof SCREENS)[0], (typeof SCREENS)[0]]

test('the cookie banner lies bottom left, on a phone across the lower edge', async ({
  page,
  server,
}) => {
  await open(page, `${server.access.url}/imprint`)
  const banner = page.getByRole('region', { name: 'Cookie Policy' })
  const place = async () => {
    const box = await banner.boundingBox()
    const screen = page.viewportSize()
    if (box === null || screen === null) throw new Error('the banner is not there')
    return {
      left: box.x,
      right: screen.width - box.x - box.width,
      below: screen.height - box.y - box.height,
    }
  }
  for (const { screen, left, right } of [
    { screen: DESK, left: 24, right: DESK.width / 2 },
    { screen: PHONE, left: 12, right: 0 },
  ]) {
    await page.setViewportSize(screen)
    await expect.poll(async () => (await place()).left).toBe(left)
    const found = await place()
    expect(found.below).toBeLessThanOrEqual(24)
    if (right > 0) expect(found.right).toBeGreaterThan(right)
    else expect(found.right).toBe(left)
  }
})

test('the chat waits bottom right, and its panel is 30 rem high', async ({ page, server }) => {
  await settle(page)
  await open(page, `${server.access.url}/imprint`)
  for (const screen of [DESK, PHONE]) {
    await page.setViewportSize(screen)
    const button = page.getByRole('button', { name: /^Open chat/ })
    await expect(button).toBeVisible()
    const box = await button.boundingBox()
    expect(box?.x).toBeGreaterThan(screen.width - 100)
    expect(box?.y).toBeGreaterThan(screen.height - 100)
    expect(box?.width).toBe(box?.height)
    await button.click()
    const panel = page.getByRole('dialog')
    await expect.poll(async () => (await panel.boundingBox())?.height).toBe(480)
    await page.keyboard.press('Escape')
  }
})

for (const height of [720, 800])
  test(`the chat's button covers no word of the demo's caption, 1280 by ${height} px`, async ({
    page,
    server,
  }) => {
    await settle(page)
    await page.setViewportSize({ width: 1280, height })
    for (const path of ['/', '/about']) {
      await open(page, server.access.url + path)
      const button = page.getByRole('button', { name: /^Open chat/ })
      await expect(button).toBeVisible()
      const caption = await page.locator('figcaption').first().boundingBox()
      const chat = await button.boundingBox()
      if (caption === null || chat === null) throw new Error('caption or button are not there')
      // The page may be scrolled to where both are at the same height.
      expect(caption.x + caption.width).toBeLessThan(chat.x)
    }
  })

test('lists have as many columns as the screen has room for', async ({ page, server }) => {
  await settle(page)
  await open(page, server.access.url)
  /** Returns how many of the list's entries stand side by side, wholly on the screen. A phone's rows go on beyond it. */
  const columns = (section: string) =>
    page.locator(`#${section} li:has(img)`).evaluateAll((entries) => {
      const boxes = entries.map((entry) => entry.getBoundingClientRect())
      const first = Math.round(boxes[0]?.top ?? 0)
      return boxes.filter(
        ({ top, right }) => Math.round(top) === first && right <= window.innerWidth,
      ).length
    })
  for (const [width, insights, testimonials] of [
    [360, 1, 1],
    [800, 2, 2],
    [1280, 3, 2],
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.locator('#blog').scrollIntoViewIfNeeded()
    await expect.poll(() => columns('blog')).toBe(insights)
    await page.locator('#testimonials').scrollIntoViewIfNeeded()
    await expect.poll(() => columns('testimonials')).toBe(testimonials)
  }
})

test('the menu is behind a button below 768 px, and laid out from there on', async ({
  page,
  server,
}) => {
  await settle(page)
  await open(page, server.access.url)
  const button = page.getByRole('button', { name: 'Open menu' })
  const links = page.getByRole('banner').getByRole('navigation', { name: 'Main' })
  await page.setViewportSize({ width: 767, height: 800 })
  await expect(button).toBeVisible()
  await expect(links).toBeHidden()
  await page.setViewportSize({ width: 768, height: 800 })
  await expect(button).toBeHidden()
  await expect(links).toBeVisible()
})
