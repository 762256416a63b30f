import { gzipSync } from 'node:zlib'

import type { Page, Response } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open, settle } from './support.ts'

/** The most that scripts may weigh, in KiB as gzip makes them. */
const ENTRY_KIB = 100
const HOME_KIB = 200

/** The client of supabase-js, a file beside the entry. */
const CLIENT = /\/assets\/supabase-[^/]+\.js$/

/** Records the scripts that the page loads. */
function scriptsOf(page: Page) {
  const responses: Response[] = []
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) responses.push(response)
  })
  return {
    /** Returns the total size of the scripts whose URLs match, in KiB as gzip makes them. */
    weight: async (fits: (url: string) => boolean = () => true) => {
      const files = new Map(responses.map((response) => [response.url(), response]))
      const bodies = [...files.values()].filter((response) => fits(response.url()))
      const sizes = bodies.map(async (response) => gzipSync(await response.body()).length)
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) / 1024
    },
  }
}

test('the scripts of the home page are no heavier than they may be', async ({ page, server }) => {
  const scripts = scriptsOf(page)
  await settle(page)
  await open(page, server.access.url)
  await expect(page.getByRole('button', { name: /^Open chat/ })).toBeVisible()
  for (const id of ['testimonials', 'blog', 'faq', 'contact'])
    await page.locator(`#${id}`).scrollIntoViewIfNeeded()
  await page.waitForLoadState('networkidle')
  const isEntry = (url: string) => /\/assets\/(?:index|start|loader|rolldown-runtime)-/.test(url)
  expect(await scripts.weight(isEntry)).toBeLessThanOrEqual(ENTRY_KIB)
  expect(await scripts.weight()).toBeLessThanOrEqual(HOME_KIB)
  expect(await scripts.weight((url) => CLIENT.test(url))).toBeGreaterThan(0)
})

test('sections and forms are there without scrolling, and without a moment of rest', async ({
  page,
  server,
}) => {
  await settle(page)
  await page.addInitScript(() => Object.assign(window, { requestIdleCallback: () => 0 }))
  await open(page, server.access.url)
  for (const label of ['Name', 'Company', 'Email', 'Message'])
    await expect(page.getByRole('form', { name: 'Contact form' }).getByLabel(label)).toBeAttached()
  await expect(page.getByRole('form', { name: 'Insights, once a month' })).toBeAttached()
  await expect(page.locator('#faq')).toBeAttached()
  expect(await page.evaluate(() => window.scrollY)).toBe(0)
  await open(page, `${server.access.url}/careers`)
  await expect(
    page.getByRole('form', { name: 'Apply for a Position' }).getByLabel('Full Name'),
  ).toBeAttached()
})

test('the page stands without the client, and with it once that has come', async ({
  page,
  server,
}) => {
  let release: () => void = () => undefined
  const isReleased = new Promise<void>((resolve) => (release = resolve))
  await settle(page)
  await page.route(CLIENT, async (route) => {
    await isReleased
    await route.continue()
  })
  await page.goto(server.access.url, { waitUntil: 'commit' })
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expect(page.getByRole('contentinfo')).toBeAttached()
  await expect(page.getByRole('button', { name: 'Resume animation' })).toBeEnabled()
  await expect(page.locator('#faq').getByRole('status')).toBeAttached()
  release()
  await expect(page.locator('#faq h3').first()).toBeAttached()
})
