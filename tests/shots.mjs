// Takes a picture of every page in four widths, to be looked at:
//   npm run shots [-- --url http://127.0.0.1:54321] [--out DIR] [--only careers] [--width 360]
// Without --url it starts a server of its own.
/* global document, window, MouseEvent -- what is handed to a page runs there */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { parseArgs } from 'node:util'

import { chromium } from '@playwright/test'

import { executablePath } from './support/browser.mjs'
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
  'not-found': '/no-such-page',
}

/** @typedef {import('@playwright/test').Page} Page */

/**
 * What is not seen by opening a page.
 * @typedef {object} State
 * @property {string} route
 * @property {(page: Page) => Promise<unknown>} [prepare] before the page is opened
 * @property {(page: Page) => Promise<unknown>} [reach] leads to the state
 * @property {boolean} [isFloating] whether it floats over the page, so that the screen is taken alone
 * @property {boolean} [isHeld] whether requests are left without a response
 * @property {boolean} [isFirstVisit] whether consent has not been asked for yet
 */

/** @param {Page} page @param {string} target @param {object} response */
const mocked = (page, target, response) =>
  page.route(`**/${target}*`, (route) =>
    route.request().method() === 'OPTIONS' ? route.fallback() : route.fulfill(response),
  )

/** @param {Page} page @param {string} id */
async function below(page, id) {
  await page.locator(`#${id}`).waitFor()
  await page.evaluate((target) => document.getElementById(target)?.scrollIntoView(), id)
  // Parts of the page request their files only now.
  await page.waitForTimeout(800)
}

/** @type {Record<string, State>} */
const STATES = {
  gate: {
    route: '/password',
    prepare: (page) =>
      mocked(page, 'rest/v1/settings?select=value&key=eq.password_protection', {
        json: { value: '1' },
      }),
    reach: (page) => page.getByRole('button', { name: 'Access Site' }).waitFor(),
  },
  banner: {
    route: '/',
    isFirstVisit: true,
    isFloating: true,
    reach: (page) => page.getByRole('button', { name: /^Open chat/ }).waitFor(),
  },
  menu: {
    route: '/about',
    isFloating: true,
    reach: async (page) => {
      const button = page.getByRole('button', { name: 'Open menu' })
      if (await button.isVisible()) await button.click()
      await page.waitForTimeout(500)
    },
  },
  popup: {
    route: '/imprint',
    isFloating: true,
    prepare: (page) =>
      page.addInitScript(() => localStorage.removeItem('newsletter_popup_disabled')),
    reach: async (page) => {
      await page.getByRole('button', { name: /^Open chat/ }).waitFor()
      await page.evaluate(() =>
        document.dispatchEvent(new MouseEvent('mouseleave', { clientY: 0 })),
      )
      await page.getByRole('dialog').waitFor()
      await page.getByRole('button', { name: 'Subscribe', exact: true }).last().click()
      await page.waitForTimeout(500)
    },
  },
  chat: {
    route: '/imprint',
    isFloating: true,
    reach: async (page) => {
      await page.getByRole('button', { name: /^Open chat/ }).click()
      await page.getByRole('list', { name: 'Suggested questions' }).waitFor()
    },
  },
  conversation: {
    route: '/imprint',
    isFloating: true,
    prepare: (page) => mocked(page, 'functions/v1/chat-ai', { status: 500, json: {} }),
    reach: async (page) => {
      await page.getByRole('button', { name: /^Open chat/ }).click()
      await page
        .getByPlaceholder('Type your message...')
        .fill('What does it cost, and who owns the data?')
      await page.keyboard.press('Enter')
      await page.getByRole('button', { name: 'Connection issue. Try again?' }).waitFor()
      await page.waitForTimeout(500)
    },
  },
  down: {
    route: '/',
    prepare: (page) => page.route('**/rest/v1/**', (route) => route.abort()),
  },
  loading: {
    route: '/',
    isHeld: true,
    prepare: (page) => page.route('**/rest/v1/**', () => undefined),
    reach: (page) => below(page, 'testimonials'),
  },
  empty: {
    route: '/about',
    prepare: (page) => mocked(page, 'rest/v1/t', { json: [] }),
  },
  errors: {
    route: '/careers',
    reach: async (page) => {
      await below(page, 'job-application')
      await page.getByRole('button', { name: 'Submit Application' }).click()
      await page.waitForTimeout(500)
    },
  },
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
const browser = await chromium.launch({
  ...(executablePath === undefined ? {} : { executablePath }),
  args: ['--no-sandbox', '--disable-gpu'],
})
await mkdir(options.out, { recursive: true })

try {
  for (const width of options.width === undefined ? WIDTHS : [Number(options.width)]) {
    for (const [name, route] of Object.entries(PAGES)) {
      if (options.only !== undefined && options.only !== name) continue
      await picture(width, name, route)
    }
    for (const [name, state] of Object.entries(STATES)) {
      if (options.only !== undefined && options.only !== name) continue
      await picture(width, name, state.route, state)
    }
  }
} finally {
  await browser.close()
  await server?.stop()
}

/**
 * Takes one picture: of the whole page, or of the screen where the state's widgets float over it.
 * @param {number} width
 * @param {string} name
 * @param {string} route
 * @param {State} [state]
 */
async function picture(width, name, route, state) {
  const context = await browser.newContext({
    viewport: { width, height: width < 500 ? 780 : 1000 },
    reducedMotion: 'reduce',
  })
  await context.addInitScript((isNew) => {
    if (!isNew) localStorage.setItem('cookieConsent', 'declined')
    localStorage.setItem('newsletter_popup_disabled', 'true')
  }, state?.isFirstVisit)
  const page = await context.newPage()
  await state?.prepare?.(page)
  await page.goto(origin + route, { waitUntil: state?.isHeld ? 'load' : 'networkidle' })
  await page.getByRole('contentinfo').waitFor({ state: 'attached' })
  if (state?.reach === undefined) await loadPictures(page)
  else await state.reach(page)
  const file = path.join(options.out, `${name}-${String(width)}.png`)
  await page.screenshot({ path: file, fullPage: state?.isFloating !== true })
  console.log(file)
  await context.close()
}

/**
 * Scrolls through the page, so that pictures that load late are there.
 * @param {import('@playwright/test').Page} page
 */
async function loadPictures(page) {
  const height = await page.evaluate(() => document.documentElement.scrollHeight)
  for (let top = 0; top < height; top += 700) {
    await page.evaluate((y) => window.scrollTo(0, y), top)
    // Parts of the page request their files only now.
    await page.waitForTimeout(150)
  }
  await page.waitForTimeout(500)
  await page.evaluate(() => window.scrollTo(0, 0))
}
