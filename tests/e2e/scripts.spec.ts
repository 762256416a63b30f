import { recordScripts, showHomePage, weightOf } from '../support/scripts.mjs'
import { expect, test } from './fixtures.ts'
import { open, settle } from './support.ts'

/** The most that scripts may weigh, in KiB as gzip makes them. */
const ENTRY_KIB = 94
const HOME_KIB = 190

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
