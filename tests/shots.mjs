// Takes a picture of every page in four widths, to be looked at:
//   npm run shots [-- --url http://127.0.0.1:54321] [--out DIR] [--only careers] [--width 360]
// Without --url it starts a server of its own.
import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { chromium } from '@playwright/test'

import { Server } from './support/server.mjs'

const WIDTHS = [360, 768, 1280, 1920]

const PAGES = {
  home: '/',
  about: '/about',
  careers: '/careers',
  article: '/blog/beyond-broadcast',
  privacy: '/privacy',
  cookies: '/cookies',
  imprint: '/imprint',
  login: '/auth',
  gate: '/password',
  'not-found': '/no-such-page',
}

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    out: { type: 'string', default: path.join(import.meta.dirname, 'results/shots') },
    only: { type: 'string' },
    width: { type: 'string' },
  },
})

const server = options.url === undefined ? await Server.start() : undefined
const origin = options.url ?? server?.access.url ?? ''
const executablePath = ['/usr/bin/chromium', '/usr/bin/google-chrome'].find((file) =>
  existsSync(file),
)
const browser = await chromium.launch({
  ...(executablePath === undefined ? {} : { executablePath }),
  args: ['--no-sandbox', '--disable-gpu'],
})
await mkdir(options.out, { recursive: true })

try {
  for (const width of options.width === undefined ? WIDTHS : [Number(options.width)]) {
    const context = await browser.newContext({
      viewport: { width, height: width < 500 ? 780 : 1000 },
      reducedMotion: 'reduce',
    })
    await context.addInitScript(() => {
      localStorage.setItem('cookieConsent', 'declined')
      localStorage.setItem('newsletter_popup_disabled', 'true')
    })
    for (const [name, route] of Object.entries(PAGES)) {
      if (options.only !== undefined && options.only !== name) continue
      const page = await context.newPage()
      await page.goto(origin + route, { waitUntil: 'networkidle' })
      await loadPictures(page)
      const file = path.join(options.out, `${name}-${String(width)}.png`)
      await page.screenshot({ path: file, fullPage: true })
      console.log(file)
      await page.close()
    }
    await context.close()
  }
} finally {
  await browser.close()
  await server?.stop()
}

/* global document, window -- these functions run in the page */
/**
 * Scrolls through the page, so that pictures that load late are there.
 * @param {import('@playwright/test').Page} page
 */
async function loadPictures(page) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight)
  for (let top = 0; top < height; top += 700) {
    await page.evaluate((y) => window.scrollTo(0, y), top)
    // Parts of the page ask for their files only now.
    await page.waitForTimeout(150)
  }
  await page.waitForTimeout(500)
  await page.evaluate(() => window.scrollTo(0, 0))
}
