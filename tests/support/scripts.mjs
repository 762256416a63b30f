import { gzipSync } from 'node:zlib'

/**
 * Records the scripts that the page loads from now on.
 * @param {import('@playwright/test').Page} page
 */
export function recordScripts(page) {
  /** @type {Map<string, import('@playwright/test').Response>} */
  const responses = new Map()
  page.on('response', (response) => {
    if (new URL(response.url()).pathname.endsWith('.js')) responses.set(response.url(), response)
  })
  /** Returns the scripts' addresses and their sizes, in KiB as gzip makes them. */
  return () =>
    Promise.all(
      Array.from(responses, async ([url, response]) => {
        const kib = gzipSync(await response.body()).length / 1024
        return { url, kib }
      }),
    )
}

/**
 * Returns the total size of scripts, in KiB.
 * @param {{ kib: number }[]} scripts
 */
export function weightOf(scripts) {
  return scripts.reduce((sum, { kib }) => sum + kib, 0)
}

/**
 * Shows the parts of the home page one after the other, and waits until it loads nothing any more.
 * @param {import('@playwright/test').Page} page
 */
export async function showHomePage(page) {
  await page.getByRole('button', { name: /^Open chat/ }).waitFor()
  for (const id of ['testimonials', 'blog', 'faq', 'contact'])
    await page.locator(`#${id}`).scrollIntoViewIfNeeded()
  await page.waitForLoadState('networkidle')
}
