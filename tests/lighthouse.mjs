// Measures the pages as Lighthouse's mobile preset does, and how fast they respond to taps on a slow processor:
//   npm run lighthouse -w @basalt/tests [-- --url http://127.0.0.1:54321] [--runs 3] [--report DIR]
// Without --url it starts a server of its own; that has to be a release build (BASALT_BINARY), since debug builds send
// files uncompressed. The processor is slowed down as far as it is faster than one of Lighthouse's benchmark index of
// 2,000, for which the goals are, so that the figures of two machines can be compared. Prints the medians, and ends with
// status 1 where one misses its goal. Needs a quiet machine.
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

import { chromium } from '@playwright/test'

import { executablePath } from './support/browser.mjs'
import { Server } from './support/server.mjs'

const run = promisify(execFile)

const LIGHTHOUSE = 'lighthouse@12.8.2'
const PAGES = ['/', '/about', '/blog/beyond-broadcast', '/careers']

/** Scores are percentages. */
const GOALS = { performance: 97, accessibility: 100, 'best-practices': 100, seo: 100 }
const HOME_SCRIPT_KIB = 190
const TBT_MS = 150
/** What Web Vitals count as good. */
const INP_MS = 200
/** The benchmark index of the machine for which the goals are, and how much a phone is slower than that one. */
const BENCHMARK_INDEX = 2000
const CPU_SLOWDOWN = 4
/** Before a tap the page comes to rest, after it the browser shows and reports it. */
const TAP_PAUSE_MS = 500

/** Buttons of the page's frame that are tapped, and those that close what they open. */
const TAPS = /** @type {[string | RegExp, string?][]} */ ([
  ['Decline'],
  ['Open menu', 'Close menu'],
  [/^Open chat/, 'Close chat'],
])

const { values: options } = parseArgs({
  options: {
    url: { type: 'string' },
    runs: { type: 'string', default: '3' },
    report: { type: 'string' },
  },
})

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? NaN
}

/**
 * Returns the size of files as gzip makes them, in KiB.
 * @param {string[]} urls
 */
async function compressed(urls) {
  const bodies = urls.map(async (url) => gzipSync(await (await fetch(url)).arrayBuffer()).length)
  return (await Promise.all(bodies)).reduce((sum, length) => sum + length, 0) / 1024
}

/**
 * Runs Lighthouse once.
 * @param {string} url
 * @param {string} file where its report goes
 * @param {number} slowdown
 */
async function measure(url, file, slowdown) {
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-background-networking',
  ]
  const chrome = executablePath === undefined ? {} : { CHROME_PATH: executablePath }
  await run(
    'npx',
    [
      ...['--yes', LIGHTHOUSE, url, '--quiet', '--output=json', `--output-path=${file}`],
      `--throttling.cpuSlowdownMultiplier=${slowdown}`,
      ...[`--only-categories=${Object.keys(GOALS).join(',')}`, `--chrome-flags=${flags.join(' ')}`],
    ],
    { env: { ...process.env, ...chrome }, maxBuffer: 1 << 26 },
  )
  const report = JSON.parse(await readFile(file, 'utf8'))
  const requests = report.audits['network-requests'].details.items
  const scripts = requests.filter(
    (/** @type {any} */ { resourceType }) => resourceType === 'Script',
  )
  return {
    scores: Object.keys(GOALS).map((name) => Math.round(report.categories[name].score * 100)),
    lcp: report.audits['largest-contentful-paint'].numericValue,
    tbt: report.audits['total-blocking-time'].numericValue,
    index: report.environment.benchmarkIndex,
    cls: report.audits['cumulative-layout-shift'].numericValue,
    scriptKib: await compressed(scripts.map((/** @type {any} */ { url: script }) => script)),
    failed: Object.values(report.audits)
      .filter(
        ({ score, scoreDisplayMode }) =>
          score !== null && score < 0.9 && scoreDisplayMode !== 'informative',
      )
      .map(({ id }) => id),
  }
}

/* global window, addEventListener -- these functions run in the page */
/** Keeps in the page what the browser says about events: how long each took until the frame that shows what it did. */
function recordTaps() {
  localStorage.setItem('newsletter_popup_disabled', 'true')
  Object.assign(window, { taps: [], clicked: [] })
  const noteClick = (/** @type {Event} */ { target }) => Object(window).clicked.push(String(target))
  addEventListener('click', noteClick, true)
  new PerformanceObserver((list) => {
    const taps = list.getEntries().filter((entry) => Object(entry).interactionId > 0)
    Object(window).taps.push(...taps.map(({ duration }) => duration))
  }).observe(
    /** @type {PerformanceObserverInit} */ ({
      type: 'event',
      durationThreshold: 16,
      buffered: true,
    }),
  )
}

/**
 * Measures how long a tap on a button took, in milliseconds. Playwright's own `tap` runs scripts in the page right
 * before and after it, which on the slower processor take longer than the tap; so here the page is left alone around
 * it.
 * @param {import('@playwright/test').Locator} button
 */
async function tap(button) {
  const page = button.page()
  await button.evaluate((element) => element.scrollIntoView({ block: 'center' }))
  await page.waitForTimeout(TAP_PAUSE_MS)
  const box = await button.boundingBox()
  if (box === null) throw new Error('a button that is tapped has to be seen')
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2)
  await page.waitForTimeout(TAP_PAUSE_MS)
  const { clicked, taps } = await page.evaluate(() => ({
    clicked: Object(window).clicked.splice(0),
    taps: Object(window).taps.splice(0),
  }))
  if (clicked.length !== 1) throw new Error(`a tap arrived at ${clicked.join(', ') || 'nothing'}`)
  return Math.max(0, ...taps)
}

/**
 * Measures the longest that a tap on the page's buttons took until the next frame, in milliseconds, on a processor
 * that is slower, and which tap that was.
 * @param {string} url
 * @param {number} slowdown
 */
async function interaction(url, slowdown) {
  const browser = await chromium.launch({
    ...(executablePath === undefined ? {} : { executablePath }),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  try {
    const context = await browser.newContext({
      viewport: { width: 412, height: 823 },
      hasTouch: true,
    })
    await context.addInitScript(recordTaps)
    const page = await context.newPage()
    await page.goto(url, { waitUntil: 'networkidle' })
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
    let slowest = { name: '', ms: 0 }
    const measured = async (/** @type {import('@playwright/test').Locator} */ button) => {
      const name = (await button.getAttribute('aria-label')) ?? (await button.innerText())
      const ms = await tap(button)
      if (ms > slowest.ms) slowest = { name, ms }
    }
    for (const [name, close] of TAPS) {
      const button = page.getByRole('button', { name, exact: true })
      await button.waitFor()
      await measured(button)
      // What is closed again comes when it is first opened.
      if (close !== undefined) await measured(page.getByRole('button', { name: close }))
    }
    const buttons = page.locator('main button[aria-expanded], main [role="radio"]')
    for (const button of (await buttons.all()).slice(0, 8)) await measured(button)
    return slowest
  } finally {
    await browser.close()
  }
}

const server = options.url === undefined ? await Server.start() : undefined
const origin = options.url ?? server?.access.url ?? ''
const folder = options.report ?? (await mkdtemp(path.join(tmpdir(), 'lighthouse-')))
await mkdir(folder, { recursive: true })
/** @type {string[]} */
const missed = []

try {
  const { index: own } = await measure(origin, path.join(folder, 'index.json'), CPU_SLOWDOWN)
  const slowdown = Number(((CPU_SLOWDOWN * own) / BENCHMARK_INDEX).toFixed(1))
  console.log(`benchmark index ${own}: the processor is slowed down ${slowdown} times`)
  console.log(
    'page | performance | accessibility | best practices | seo | LCP ms | TBT ms | benchmark index | CLS | scripts KiB (gzip) | INP ms | slowest tap',
  )
  for (const [index, route] of PAGES.entries()) {
    const runs = []
    const worst = []
    for (let round = 0; round < Number(options.runs); round++)
      runs.push(
        await measure(origin + route, path.join(folder, `${index}-${round}.json`), slowdown),
      )
    // Not in turns with the above: Lighthouse's browser is still busy ending while the next thing runs.
    for (let round = 0; round < Number(options.runs); round++)
      worst.push(await interaction(origin + route, slowdown))
    const middle = (/** @type {(one: (typeof runs)[number]) => number} */ of) =>
      median(runs.map(of))
    const scores = Object.keys(GOALS).map((_, category) =>
      middle(({ scores }) => scores[category] ?? 0),
    )
    const cls = middle((one) => one.cls)
    const scriptKib = middle((one) => one.scriptKib)
    const inp = {
      ms: median(worst.map(({ ms }) => ms)),
      name: worst.map(({ name }) => name).join(', '),
    }
    const tbt = Math.round(middle((one) => one.tbt))
    const times = [middle((one) => one.lcp), tbt, middle((one) => one.index)].map(Math.round)
    console.log(
      [route, ...scores, ...times, cls.toFixed(3), scriptKib.toFixed(0), inp.ms, inp.name].join(
        ' | ',
      ),
    )
    for (const [category, goal] of Object.values(GOALS).entries())
      if ((scores[category] ?? 0) < goal)
        missed.push(`${route}: ${Object.keys(GOALS)[category]} below ${goal}`)
    if (cls > 0.001) missed.push(`${route}: layout shift`)
    if (tbt >= TBT_MS) missed.push(`${route}: blocked for ${tbt} ms`)
    if (inp.ms >= INP_MS) missed.push(`${route}: the tap on "${inp.name}" took ${inp.ms} ms`)
    if (route === '/' && scriptKib > HOME_SCRIPT_KIB)
      missed.push(`${route}: ${scriptKib.toFixed(0)} KiB of scripts`)
    if (missed.length > 0)
      console.log(`  below 0.9: ${[...new Set(runs.flatMap(({ failed }) => failed))].join(', ')}`)
  }
} finally {
  await server?.stop()
  if (options.report === undefined) await rm(folder, { recursive: true, force: true })
}
for (const sentence of missed) console.log(`missed: ${sentence}`)
process.exitCode = missed.length > 0 ? 1 : 0
