import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open } from './support.ts'

/** What crawlers read in a page's head. */
interface Head {
  title: string
  tags: Record<string, string[]>
  jsonLd: { '@graph': Record<string, unknown>[] } | null
}

/** Reads the head of a document; runs in the browser, where the HTML's parser is. */
function readHead(html: string | null): Head {
  const page = html === null ? document : new DOMParser().parseFromString(html, 'text/html')
  const tags: Record<string, string[]> = {}
  for (const element of page.head.querySelectorAll('meta[name], meta[property], link[rel]')) {
    const key =
      element.getAttribute('name') ??
      element.getAttribute('property') ??
      element.getAttribute('rel') ??
      ''
    if (
      [
        'viewport',
        'theme-color',
        'stylesheet',
        'preload',
        'modulepreload',
        'module-later',
      ].includes(key)
    )
      continue
    ;(tags[key] ??= []).push(element.getAttribute('content') ?? element.getAttribute('href') ?? '')
  }
  const scripts = page.querySelectorAll('script[type="application/ld+json"]')
  if (scripts.length > 1) throw new Error('structured data is there twice')
  const text = scripts[0]?.textContent
  return { title: page.title, tags, jsonLd: text ? (JSON.parse(text) as Head['jsonLd']) : null }
}

async function served(page: Page, url: string) {
  const response = await page.request.get(url)
  return { status: response.status(), head: await page.evaluate(readHead, await response.text()) }
}

const ROUTES = [
  '/',
  '/about',
  '/careers',
  '/privacy',
  '/cookies',
  '/imprint',
  '/auth',
  '/blog/beyond-broadcast',
  '/blog/beyond-ads',
]

for (const route of ROUTES) {
  test(`${route} is served with the head that the page then keeps`, async ({ page, server }) => {
    await open(page, server.access.url + route)
    const { status, head } = await served(page, server.access.url + route)
    expect(status).toBe(200)
    expect(head.title).toMatch(/Terrace/)
    expect(head.tags.canonical).toEqual([server.access.url + route])
    expect(head.tags['og:image']?.[0]).toContain('/storage/v1/object/public/')
    expect(head.tags['og:title']).toEqual([head.title])
    await page.waitForLoadState('networkidle')
    await expect.poll(() => page.evaluate(readHead, null)).toEqual(head)
  })
}

test.describe('without scripts', () => {
  test.use({ javaScriptEnabled: false })

  test('the first screen is there', async ({ page, server }) => {
    const { url } = server.access
    const headline = await server.psql(
      'select headline from hero_headlines where is_visible order by order_index limit 1',
    )
    await page.goto(url)
    await expect(page.getByRole('heading', { level: 1 })).toContainText(headline)
    await expect(page.locator('#hero img')).toHaveJSProperty('complete', true)
    await page.getByRole('link', { name: 'Login' }).click()
    await expect(page).toHaveURL(`${url}/auth`)

    const link = '/blog/beyond-ads'
    const title = await server.psql(`select title from blog_posts where link = '${link}'`)
    await page.goto(url + link)
    await expect(page.getByRole('heading', { level: 1 })).toHaveText(title)
    await page.goto(`${url}/privacy`)
    await expect(page.getByRole('heading', { level: 2 })).toHaveCount(14)
  })
})

/** What search engines want of each type before they show it. Source: Google Search Central's structured data gallery. */
const REQUIRED: Record<string, string[]> = {
  Organization: ['name', 'url', 'logo'],
  FAQPage: ['mainEntity'],
  Question: ['name', 'acceptedAnswer'],
  Answer: ['text'],
  Article: ['headline', 'image', 'author'],
  JobPosting: [
    ...['title', 'description', 'datePosted', 'hiringOrganization'],
    ...['jobLocationType', 'applicantLocationRequirements'],
  ],
  Country: ['name'],
  PropertyValue: ['name', 'value'],
}

/** Returns the incomplete entities of structured data, with their missing properties. */
function incomplete(data: unknown): string[] {
  if (typeof data !== 'object' || data === null) return []
  const inner = Object.values(data).flatMap(incomplete)
  if (!('@type' in data)) return inner
  const { '@type': type, ...members } = data as Record<string, unknown>
  const isMention = type === 'Organization' && !('@id' in members)
  const wanted = isMention ? ['name'] : REQUIRED[String(type)]
  if (!wanted) return [...inner, `${String(type)} is not known here`]
  const missing = wanted.filter((name) => !members[name])
  return [...inner, ...missing.map((name) => `${String(type)} has no ${name}`)]
}

test('structured data comes from the tables and lacks nothing', async ({ page, server }) => {
  const { url } = server.access
  const entities = async (route: string) => {
    const { head } = await served(page, url + route)
    expect(incomplete(head.jsonLd)).toEqual([])
    return head.jsonLd?.['@graph']
  }
  const types = async (route: string) => (await entities(route))?.map((item) => item['@type'])
  expect(await types('/')).toEqual(['Organization', 'FAQPage'])
  expect(await types('/blog/beyond-ads')).toEqual(['Article'])
  const openings = await server.psql('select count(*) from job_openings where is_active')
  const posted = await entities('/careers')
  expect(posted?.map((item) => item['@type'])).toEqual(Array(Number(openings)).fill('JobPosting'))
  for (const { datePosted } of posted ?? [])
    expect(Date.parse(String(datePosted))).toBeLessThanOrEqual(Date.now())
  expect(await types('/imprint')).toBeUndefined()
})

test("an admin's edit is in the head, and a hidden article is gone", async ({ page, server }) => {
  const { url } = server.access
  const where = "where link = '/blog/beyond-ads'"
  const title = await server.psql(`select title from blog_posts ${where}`)
  await server.psql(`update blog_posts set title = 'Ads </title><b>&' ${where}`)
  try {
    const read = async () => (await served(page, `${url}/blog/beyond-ads`)).head.title
    await expect.poll(read).toBe('Ads </title><b>& | Terrace')
    await server.psql(`update blog_posts set is_visible = false ${where}`)
    const status = async () => (await page.request.get(`${url}/blog/beyond-ads`)).status()
    await expect.poll(status).toBe(404)
    const map = await page.request.get(`${url}/sitemap.xml`)
    expect(await map.text()).not.toContain('/blog/beyond-ads')
  } finally {
    await server.psql(`update blog_posts set is_visible = true, title = '${title}' ${where}`)
  }
})

test('search engines find the pages, and browsers the manifest', async ({ page, server }) => {
  const { url } = server.access
  const robots = await (await page.request.get(`${url}/robots.txt`)).text()
  expect(robots).toContain(`Sitemap: ${url}/sitemap.xml`)
  const map = await (await page.request.get(`${url}/sitemap.xml`)).text()
  for (const path of ['/', '/careers', '/blog/engaging-gen-z'])
    expect(map).toContain(`<loc>${url}${path}</loc>`)
  expect(map).not.toContain('/auth')
  const manifest = await page.request.get(`${url}/site.webmanifest`)
  expect(await manifest.json()).toMatchObject({ name: 'Terrace', start_url: '/' })
})
