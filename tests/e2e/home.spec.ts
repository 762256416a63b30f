import { expect, test } from './fixtures.ts'
import { open, timeline } from './support.ts'

test('the home page shows rows of the database', async ({ page, server }) => {
  const [question] = (
    await server.psql('select question from public.faqs where is_visible order by order_index')
  ).split('\n')
  const [title] = (
    await server.psql('select title from public.blog_posts where is_visible order by id')
  ).split('\n')
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()))

  await page.goto(server.access.url)
  await page.locator('#faq').scrollIntoViewIfNeeded()
  await expect(page.locator('#faq').getByText(question ?? '')).toBeVisible()
  await page.locator('#blog').scrollIntoViewIfNeeded()
  await expect(page.locator('#blog').getByText(title ?? '')).toBeVisible()
  expect(errors).toEqual([])
})

test('the sections stand in their order', async ({ page, server }) => {
  await page.goto(server.access.url)
  await expect(page.locator('#contact')).toBeAttached()
  const ids = await page
    .locator('main section[id]')
    .evaluateAll((sections) => sections.map(({ id }) => id))
  const named = [
    'problem',
    'solution',
    'testimonials',
    'benefits',
    'urgent',
    'blog',
    'faq',
    'contact',
  ]
  expect(ids.filter((id) => named.includes(id))).toEqual(named)
})

test("an admin's edit shows at once", async ({ page, server }) => {
  const subscribed = new Promise<void>((resolve) => {
    page.on('websocket', (socket) => {
      socket.on('framereceived', ({ payload }) => {
        if (String(payload).includes('Subscribed to PostgreSQL')) resolve()
      })
    })
  })
  const faq = page.locator('#faq')
  await page.goto(server.access.url)
  await faq.scrollIntoViewIfNeeded()
  const where =
    'where id = (select id from public.faqs where is_visible order by order_index limit 1)'
  const before = await server.psql(`select question from public.faqs ${where}`)
  await expect(faq.getByText(before)).toBeVisible()
  await subscribed
  await server.psql(`update public.faqs set question = 'Does it show without a reload?' ${where}`)
  await expect(faq.getByText('Does it show without a reload?')).toBeVisible()
  await server.psql(`update public.faqs set question = '${before.replaceAll("'", "''")}' ${where}`)
  await expect(faq.getByText(before)).toBeVisible()
})

test("an admin's edit shows after a reload, and a hidden row does not", async ({
  page,
  server,
}) => {
  const faq = page.locator('#faq')
  await page.goto(server.access.url)
  await faq.scrollIntoViewIfNeeded()
  const id = await server.psql(
    'select id from public.faqs where is_visible order by order_index limit 1',
  )
  const before = await server.psql(`select question from public.faqs where id = '${id}'`)
  await expect(faq.getByText(before)).toBeVisible()

  await server.psql(
    `update public.faqs set question = 'Does an edit in psql show?' where id = '${id}'`,
  )
  await page.reload()
  await faq.scrollIntoViewIfNeeded()
  await expect(faq.getByText('Does an edit in psql show?')).toBeVisible()

  await server.psql(`update public.faqs set is_visible = false where id = '${id}'`)
  await page.reload()
  await faq.scrollIntoViewIfNeeded()
  await expect(faq.getByRole('button').first()).toBeVisible()
  await expect(faq.getByText('Does an edit in psql show?')).toHaveCount(0)
})

test("an admin's edit shows when the visitor comes back to the page", async ({ page, server }) => {
  const faq = page.locator('#faq')
  await page.goto(server.access.url)
  await faq.scrollIntoViewIfNeeded()
  const where = 'where id = (select id from faqs where is_visible order by order_index limit 1)'
  await expect(faq.getByText(await server.psql(`select question from faqs ${where}`))).toBeVisible()
  await server.psql(`update faqs set question = 'Does it show without a reload?' ${where}`)
  await page.evaluate(() => window.dispatchEvent(new Event('focus')))
  await expect(faq.getByText('Does it show without a reload?')).toBeVisible()
})

test('pictures and the demo video come from the buckets', async ({ page, server }) => {
  const files = new Map<string, number>()
  page.on('response', (response) => {
    const { pathname } = new URL(response.url())
    if (pathname.startsWith('/storage/v1/')) files.set(pathname, response.status())
  })
  await page.goto(server.access.url)
  const portrait = page.locator('#testimonials img').first()
  await portrait.scrollIntoViewIfNeeded()
  await expect
    .poll(() => portrait.evaluate((image: HTMLImageElement) => image.naturalWidth))
    .toBeGreaterThan(0)
  expect([...files.keys()].some((path) => path.includes('/experts/'))).toBe(true)
  expect([...files.keys()].some((path) => path.includes('/app/demo-'))).toBe(true)
  expect([...files].filter(([, status]) => status >= 400)).toEqual([])
})

for (const size of [
  { width: 412, height: 823 },
  { width: 1280, height: 720 },
])
  test(`the film that starts late is not the page's largest picture, ${size.width} px`, async ({
    browser,
    server,
  }) => {
    const page = await browser.newPage({ reducedMotion: 'no-preference', viewport: size })
    const painted = await timeline(page, 'largest-contentful-paint')
    await page.goto(server.access.url)
    // Then the first screen that the server has sent is not there any more.
    await expect(page.getByRole('contentinfo')).toBeAttached()
    const film = page.locator('video')
    // It plays only while it is seen, which is below a phone's first screen.
    await film.scrollIntoViewIfNeeded()
    await expect
      .poll(() => film.evaluate((video: HTMLVideoElement) => video.currentTime))
      .toBeGreaterThan(0.2)
    const largest = (await painted()).map(({ tag }) => tag)
    expect(largest.length).toBeGreaterThan(0)
    expect(largest).not.toContain('VIDEO')
    // Browsers round sizes: of two pictures of the same size, the later one would sometimes count as the larger.
    const width = (selector: string) =>
      page.locator(selector).evaluate((element) => element.getBoundingClientRect().width)
    expect(await width('video')).toBeLessThan(await width('img[fetchpriority="high"]'))
    await page.close()
  })

test('an unknown path is a page that says so, with status 404', async ({ page, server }) => {
  const response = await page.goto(`${server.access.url}/no/such/page`)
  expect(response?.status()).toBe(404)
  await expect(page.getByText('Oops! Page not found')).toBeVisible()
  await page.getByRole('link', { name: 'Return to Home' }).click()
  await expect(page).toHaveURL(`${server.access.url}/`)
})

test('a phone has the links in a menu that the keyboard can leave', async ({ page, server }) => {
  await page.setViewportSize({ width: 360, height: 740 })
  await page.goto(server.access.url)
  await page.getByRole('button', { name: /menu/i }).click()
  const menu = page.getByRole('dialog')
  await expect(menu.getByRole('link', { name: /faq/i })).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(menu).toHaveCount(0)
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - window.innerWidth,
  )
  expect(overflow).toBeLessThanOrEqual(0)
})

// An animation of any other property makes the browser process the whole page in every frame, which delays taps.
test('what moves for ever changes nothing but opacity and transform', async ({
  browser,
  server,
}) => {
  const page = await browser.newPage({ reducedMotion: 'no-preference' })
  for (const path of ['/', '/about', '/careers']) {
    await open(page, server.access.url + path)
    const endless = () =>
      page.evaluate(() => {
        const effects = document.getAnimations().map(({ effect }) => effect as KeyframeEffect)
        return effects
          .filter((effect) => effect.getComputedTiming().iterations === Infinity)
          .flatMap((effect) => effect.getKeyframes())
          .flatMap((frame) => Object.keys(frame))
      })
    if (path === '/') await expect.poll(endless).toContain('opacity')
    const timing = ['offset', 'computedOffset', 'easing', 'composite']
    const changed = new Set((await endless()).filter((name) => !timing.includes(name)))
    expect([...changed].filter((name) => !['opacity', 'transform'].includes(name))).toEqual([])
  }
  await page.close()
})

test('nothing shifts while the headline is typed', async ({ browser, server }) => {
  const page = await browser.newPage({ reducedMotion: 'no-preference' })
  const shifts = await timeline(page, 'layout-shift')
  // The second visit has the fonts in the cache, so no late font shifts the page.
  await open(page, server.access.url)
  const fonts = () => page.evaluate(() => [...document.fonts].map(({ status }) => status))
  await expect.poll(fonts).toContain('loaded')
  await expect.poll(fonts).not.toContain('loading')
  await page.waitForLoadState('networkidle')
  await page.reload()
  const [first = ''] = (
    await server.psql('select headline from hero_headlines where is_visible order by order_index')
  ).split('\n')
  await expect(page.locator('h1 .caret-after')).toHaveText(first, { timeout: 30_000 })
  expect(await shifts()).toEqual([])
  await page.close()
})

test('a link to a section leads there, also when what is above comes later', async ({
  page,
  server,
}) => {
  await page.route('**/rest/v1/**', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 800))
    await route.continue()
  })
  await page.goto(`${server.access.url}/#contact`)
  await expect(page.locator('#blog article, #blog li').first()).toBeAttached()
  await expect(page.locator('#faq button').first()).toBeAttached()
  const top = () =>
    page.locator('#contact').evaluate((section) => section.getBoundingClientRect().top)
  await expect.poll(async () => Math.round(await top())).toBe(80)
  await page.waitForTimeout(500)
  expect(Math.round(await top())).toBe(80)
})
