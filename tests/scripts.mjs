// Lists the scripts that the home page loads, until it has been scrolled to its end, by their sizes as gzip makes them:
//   npm run scripts -w @basalt/tests [-- --url http://127.0.0.1:54321]
// Without --url it starts a server of its own. tests/e2e/scripts.spec.ts says how heavy they may be.
import path from 'node:path'
import { parseArgs } from 'node:util'

import { chromium } from '@playwright/test'

import { executablePath } from './support/browser.mjs'
import { recordScripts, showHomePage, weightOf } from './support/scripts.mjs'
import { Server } from './support/server.mjs'

const { values: options } = parseArgs({ options: { url: { type: 'string' } } })
const server = options.url === undefined ? await Server.start() : undefined
const browser = await chromium.launch({
  ...(executablePath === undefined ? {} : { executablePath }),
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  const page = await browser.newPage()
  // The popup would load its own scripts.
  await page.addInitScript(() => localStorage.setItem('newsletter_popup_disabled', 'true'))
  const scripts = recordScripts(page)
  await page.goto(options.url ?? server?.access.url ?? '')
  await showHomePage(page)
  const found = await scripts()
  console.log('KiB (gzip) | script')
  for (const { url, kib } of found.toSorted((a, b) => b.kib - a.kib))
    console.log(`${kib.toFixed(2).padStart(10)} | ${path.basename(new URL(url).pathname)}`)
  console.log(`${weightOf(found).toFixed(2).padStart(10)} | together`)
} finally {
  await browser.close()
  await server?.stop()
}
