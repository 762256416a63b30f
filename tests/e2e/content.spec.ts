import type { Page } from '@playwright/test'

import type { Server } from '../support/server.mjs'
import { expect, test } from './fixtures.ts'
import { createUser, open, settle } from './support.ts'

/** Resolves once the page is told of changes of the content. */
function subscribed(page: Page) {
  return new Promise<void>((resolve) => {
    page.on('websocket', (socket) => {
      socket.on('framereceived', ({ payload }) => {
        if (String(payload).includes('Subscribed to PostgreSQL')) resolve()
      })
    })
  })
}

/** A row that pages show: where it is, and how it is hidden. */
interface Shown {
  path: string
  table: string
  row: string
  column: string
  hidden: string
}

const ROWS: Shown[] = [
  {
    path: '/',
    table: 'hero_headlines',
    row: 'where is_visible order by order_index limit 1',
    column: 'headline',
    hidden: 'is_visible',
  },
  {
    path: '/',
    table: 'faqs',
    row: 'order by order_index desc limit 1',
    column: 'question',
    hidden: 'is_visible',
  },
  {
    path: '/',
    table: 'testimonials',
    row: "where 'home' = any (visible_on_pages) order by name limit 1",
    column: 'name',
    hidden: 'is_visible',
  },
  {
    path: '/',
    table: 'blog_posts',
    row: 'order by id desc limit 1',
    column: 'description',
    hidden: 'is_visible',
  },
  {
    path: '/blog/beyond-broadcast',
    table: 'blog_posts',
    row: "where link = '/blog/beyond-broadcast'",
    column: 'content',
    hidden: 'is_visible',
  },
  {
    path: '/careers',
    table: 'job_openings',
    row: 'order by display_order limit 1',
    column: 'description',
    hidden: 'is_active',
  },
]

async function find(server: Server, { table, row, column }: Shown) {
  const id = await server.psql(`select id from public.${table} ${row}`)
  const text = await server.psql(
    `select split_part(${column}, E'\\n', 1) from public.${table} where id = '${id}'`,
  )
  return { where: `where id = '${id}'`, text }
}

for (const shown of ROWS) {
  const { path, table, column, hidden } = shown
  test(`a row of ${table} that is hidden leaves ${path} (${column})`, async ({ page, server }) => {
    await settle(page)
    const { where, text } = await find(server, shown)
    const isSubscribed = subscribed(page)
    await open(page, server.access.url + path)
    await expect(page.getByText(text).first()).toBeAttached()
    await isSubscribed
    await server.psql(`update public.${table} set ${hidden} = false ${where}`)
    try {
      await expect(page.getByText(text)).toHaveCount(0)
    } finally {
      await server.psql(`update public.${table} set ${hidden} = true ${where}`)
    }
    await expect(page.getByText(text).first()).toBeAttached()
  })
}

test('titles that are missing blank nothing', async ({ page, server }) => {
  await settle(page)
  await page.route('**/rest/v1/blog_posts*', async (route) => {
    const response = await route.fetch()
    const rows = (await response.json()) as object | object[]
    const without = (row: object) => ({ ...row, title: null })
    await route.fulfill({ json: Array.isArray(rows) ? rows.map(without) : without(rows) })
  })
  await open(page, `${server.access.url}/blog/beyond-ads`)
  await expect(page.getByText('Terrace Solution:').first()).toBeVisible()
  await expect(page.getByRole('heading', { level: 1 })).toContainText('Beyond Ads')
  await expect(
    page.getByRole('contentinfo').getByRole('link', { name: 'Beyond ads' }),
  ).toBeVisible()
  await page.getByRole('link', { name: 'Back to Articles' }).click()
  await expect(page.locator('#blog').getByRole('link', { name: 'Beyond ads' })).toBeVisible()
})

test('what has failed is no news once it succeeds', async ({ page, server }) => {
  await settle(page)
  const insert = '**/rest/v1/newsletter_subscriptions*'
  await page.route('**/api.ipify.org/**', (route) => route.abort())
  await page.route(insert, (route) => route.abort())
  await open(page, `${server.access.url}/imprint`)
  const form = page.getByRole('form', { name: 'Insights, once a month' })
  await form.getByLabel('Email address').fill('again@club.example')
  await form.getByRole('checkbox').check()
  await form.getByRole('button', { name: 'Subscribe' }).click()
  const failed = page.getByText('Failed to subscribe. Please check your connection and try again.')
  await expect(failed).toBeVisible()
  // Toasts stay while the pointer is over one.
  await failed.hover()
  await page.unroute(insert)
  await form.getByRole('button', { name: 'Subscribe' }).press('Enter')
  await expect(page.getByText('Successfully subscribed to newsletter!')).toBeVisible()
  // At once: every toast goes by itself after some seconds.
  await expect(failed).toHaveCount(0, { timeout: 1000 })
})

test('a list that comes after all takes its toast with it', async ({ page, server }) => {
  await settle(page)
  await page.route('**/rest/v1/job_openings*', (route) =>
    route.fulfill({ status: 500, json: { code: 'XX000', message: 'no' } }),
  )
  await open(page, `${server.access.url}/careers`)
  const failed = page.getByText('Failed to load job openings')
  await expect(failed).toBeVisible()
  await failed.hover()
  await page.unroute('**/rest/v1/job_openings*')
  await page.evaluate(() => window.dispatchEvent(new Event('focus')))
  await expect(page.locator('#jobs').getByRole('button').first()).toBeVisible()
  await expect(failed).toHaveCount(0)
})

test('a closed site shows nothing of a page before it asks', async ({ page, server }) => {
  await settle(page)
  await server.psql("update settings set value = '1' where key = 'password_protection'")
  try {
    // What the page shows while the setting is on its way.
    await page.route('**/rest/v1/settings*', async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 1500))
      await route.continue()
    })
    await page.addInitScript(() => {
      const seen = new Set<string>()
      Object.assign(window, { seen })
      new MutationObserver(() => {
        for (const { textContent } of document.querySelectorAll('h1')) seen.add(textContent)
      }).observe(document, { childList: true, subtree: true })
    })
    for (const path of ['/imprint', '/', '/blog/beyond-ads', '/careers']) {
      await expect
        .poll(async () => (await page.request.get(server.access.url + path)).text())
        .toContain('<title>Enter Password')
      await page.goto(server.access.url + path)
      await expect(page.getByRole('heading', { name: 'Password Protected' })).toBeVisible()
      const seen = await page.evaluate(() => [...(window as unknown as { seen: Set<string> }).seen])
      expect(seen, path).toEqual(['Password Protected'])
    }
  } finally {
    await server.psql("update settings set value = '0' where key = 'password_protection'")
  }
})

test('pictures of other hosts are refused by the tables, those of storage are shown', async ({
  page,
  server,
}) => {
  const foreign = 'https://pictures.example/one.png'
  const id = await createUser(
    server,
    'foreign@club.example',
    'correct horse battery',
    'Ada Terrace',
  )
  for (const [table, column, where] of [
    ['blog_posts', 'image_url', 'where id = (select min(id) from blog_posts)'],
    ['profiles', 'avatar_url', `where id = '${id}'`],
  ]) {
    const change = `update ${String(table)} set ${String(column)} = '${foreign}' ${String(where)}`
    await expect(server.psql(change)).rejects.toThrow('Pictures of other hosts are not shown.')
  }

  await settle(page)
  const refused: string[] = []
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) refused.push(message.text())
  })
  await server.psql(
    `update profiles set avatar_url = 'experts/hana-morikubo.webp' where id = '${id}'`,
  )
  await page.goto(`${server.access.url}/auth`)
  await page.getByLabel('Email', { exact: true }).fill('foreign@club.example')
  await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
  await page.getByRole('button', { name: 'Log in' }).click()
  await expect(page).toHaveURL(`${server.access.url}/`)
  await page.goto(`${server.access.url}/auth`)
  await expect(page.getByText('Ada Terrace')).toBeVisible()
  const picture = page.locator('main img[src*="hana-morikubo"]')
  await expect
    .poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth))
    .toBeGreaterThan(0)
  expect(refused).toEqual([])
})
