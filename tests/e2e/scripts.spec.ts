import { gzipSync } from 'node:zlib'

import type { Response } from '@playwright/test'

import { recordScripts, showHomePage, weightOf } from '../support/scripts.mjs'
import { expect, test } from './fixtures.ts'
import { open, settle } from './support.ts'

/** The most that scripts may weigh, in KiB as gzip makes them. */
const ENTRY_KIB = 94
const HOME_KIB = 190

/** The most that a visitor loads who does not scroll, in bytes. */
const FIRST_VIEW = 1_000_000

/** Types of files that a published program sends compressed. */
const IS_TEXT = /^(text\/|application\/(javascript|json|manifest\+json|ld\+json)|image\/svg)/

/** The client of supabase-js, a file beside the entry. */
const CLIENT = /\/assets\/supabase-[^/]+\.js$/

test('the scripts of the home page are no heavier than they may be', async ({ page, server }) => {
  const scripts = recordScripts(page)
  await settle(page)
  await open(page, server.access.url)
  await showHomePage(page)
  const found = await scripts()
  const ofEntry = found.filter(({ url }) =>
    /\/assets\/(?:index|start|loader|rolldown-runtime)-/.test(url),
  )
  expect(weightOf(ofEntry)).toBeLessThanOrEqual(ENTRY_KIB)
  expect(weightOf(found)).toBeLessThanOrEqual(HOME_KIB)
  expect(found.some(({ url }) => CLIENT.test(url))).toBe(true)
})

/** Returns how many bytes a response has, for a text as gzip makes it; for a part of a video, the whole of it. */
async function bytesOf(response: Response) {
  const headers = response.headers()
  const [, whole] = /\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
  if (whole !== undefined) return Number(whole)
  const body = await response.body()
  return IS_TEXT.test(headers['content-type'] ?? '') ? gzipSync(body).length : body.length
}

test('the first view of the home page is at most a megabyte, with its video', async ({
  page,
  server,
}) => {
  const responses = new Map<string, Response>()
  page.on('response', (response) => responses.set(response.url(), response))
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.emulateMedia({ reducedMotion: 'no-preference' })
  await settle(page)
  const video = page.waitForResponse(/\.(webm|mp4)$/)
  await open(page, server.access.url)
  await video
  await page.waitForLoadState('networkidle')
  const sizes = await Promise.all(Array.from(responses.values(), bytesOf))
  const bytes = sizes.reduce((sum, size) => sum + size, 0)
  expect(bytes).toBeGreaterThan(FIRST_VIEW / 2)
  expect(bytes).toBeLessThanOrEqual(FIRST_VIEW)
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
