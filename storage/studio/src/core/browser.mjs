import { chromium } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
]

/**
 * Runs `work(studio)` with a headless Chromium, and closes it whatever happens.
 * The executable is the environment's `CHROMIUM`, or `/usr/bin/chromium`.
 */
export async function withBrowser(work) {
  const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: FLAGS })
  try {
    return await work({
      open: (width, height) => open(browser, width, height),
      still: (...scene) => still(browser, ...scene),
    })
  } finally {
    await browser.close()
  }
}

async function open(browser, width, height) {
  const context = await browser.newContext({ viewport: { width, height }, deviceScaleFactor: 1 })
  return context.newPage()
}

/** Renders `html` (or an SVG document) at `width` by `height` pixels; returns a PNG with its transparency kept. */
async function still(browser, html, width, height) {
  const page = await open(browser, width, height)
  try {
    await page.setContent(
      `<!doctype html><style>html,body{margin:0;background:transparent}svg{display:block;width:100vw;height:100vh}</style>${html}`,
    )
    await page.evaluate(() => globalThis.document.fonts.ready)
    return await page.screenshot({ omitBackground: true })
  } finally {
    await page.context().close()
  }
}
