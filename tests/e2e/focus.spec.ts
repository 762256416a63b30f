import type { Locator, Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { open, SCREENS, settle } from './support.ts'

/** More steps than any page has. */
const LIMIT = 200

/** The contrast that a mark of the focus needs. Source: WCAG 2.2, success criteria 1.4.11 and 2.4.13. */
const CONTRAST = 3

/** How far from an element its mark may be, in pixels. */
const REACH = 8

/** What the focus changes on the screen. */
interface Mark {
  name: string
  /** How many pixels change by `CONTRAST` or more. */
  changed: number
  /** How many pixels a line around the element has that is two pixels thick, if the element is round. */
  wanted: number
}

/** Returns the focused element's name and the part of the screen that has it and its mark; null without one. */
function place(page: Page) {
  return page.evaluate(async (reach) => {
    const element = document.activeElement
    if (!element || element === document.body) return null
    // An element that moves into view when it is focused has to arrive first.
    await Promise.allSettled(element.getAnimations().map(({ finished }) => finished))
    const { left, top, right, bottom } = element.getBoundingClientRect()
    const x = Math.max(0, Math.floor(left - reach))
    const y = Math.max(0, Math.floor(top - reach))
    const width = Math.min(window.innerWidth, Math.ceil(right + reach)) - x
    const height = Math.min(window.innerHeight, Math.ceil(bottom + reach)) - y
    const seen = [
      Math.min(window.innerWidth, right) - Math.max(0, left),
      Math.min(window.innerHeight, bottom) - Math.max(0, top),
    ]
    const name = `${element.tagName} ${element.getAttribute('aria-label') ?? element.textContent.slice(0, 40)}`
    return {
      name,
      clip: { x, y, width, height },
      wanted: seen.reduce((sum, side) => sum + Math.PI * side, 0),
    }
  }, REACH)
}

/** Returns how many pixels differ between two pictures (PNG in base64) by a contrast of `least` or more. */
function changedPixels(helper: Page, pictures: string[], least: number) {
  return helper.evaluate(
    async ([pictures, least]) => {
      const read = async (picture: string) => {
        const bytes = Uint8Array.from(atob(picture), (character) => character.charCodeAt(0))
        const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }))
        const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext('2d')
        if (!context) throw new Error('there is no canvas')
        context.drawImage(bitmap, 0, 0)
        return context.getImageData(0, 0, bitmap.width, bitmap.height).data
      }
      // WCAG 2.2, definitions of relative luminance and contrast ratio.
      const luminance = (data: Uint8ClampedArray, at: number) => {
        const [r = 0, g = 0, b = 0] = [0, 1, 2].map((channel) => {
          const value = (data[at + channel] ?? 0) / 255
          return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
        })
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
      }
      const [one, two] = await Promise.all(pictures.map(read))
      if (!one || !two) throw new Error('there are not two pictures')
      let changed = 0
      for (let at = 0; at < one.length; at += 4) {
        const [a, b] = [luminance(one, at), luminance(two, at)]
        if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) >= least) changed++
      }
      return changed
    },
    [pictures, least] as const,
  )
}

/** Measures the mark of the focused element: compares the screen with the focus and without it. */
async function mark(page: Page, helper: Page): Promise<Mark | null> {
  const found = await place(page)
  if (!found) return null
  const { name, clip, wanted } = found
  const picture = async () =>
    (await page.screenshot({ clip, animations: 'disabled' })).toString('base64')
  const focused = await picture()
  await page.evaluate(() => {
    const element = document.activeElement as HTMLElement
    Object.assign(window, { element })
    element.blur()
  })
  const plain = await picture()
  await page.evaluate(() => {
    const { element } = window as unknown as { element: HTMLElement }
    element.focus({ preventScroll: true, focusVisible: true })
  })
  return { name, changed: await changedPixels(helper, [focused, plain], CONTRAST), wanted }
}

/** Walks the page by keyboard; returns the number of stops and those whose mark is too weak. */
async function walk(page: Page, limit = LIMIT, ends: (page: Page) => Promise<boolean> = never) {
  const helper = await page.context().newPage()
  await page.bringToFront()
  const weak: Mark[] = []
  let stops = 0
  for (; stops < limit; stops++) {
    await page.keyboard.press('Tab')
    if (await ends(page)) break
    const found = await mark(page, helper)
    if (!found) break
    if (found.changed < found.wanted) weak.push(found)
  }
  await helper.close()
  return { stops, weak }
}

const never = () => Promise.resolve(false)

for (const viewport of SCREENS) {
  test.describe(`at ${String(viewport.width)} px`, () => {
    test.use({ viewport })
    const routes = ['/', '/about', '/careers', '/blog/beyond-ads', '/auth']
    // The other pages have the same parts at every width.
    for (const route of viewport.width < 768 ? routes.slice(0, 1) : routes) {
      test(`the focus is seen on every surface of ${route}`, async ({ page, server }) => {
        test.slow()
        await settle(page)
        await open(page, server.access.url + route)
        await page.waitForLoadState('networkidle')
        const { stops, weak } = await walk(page)
        expect(weak).toEqual([])
        expect(stops).toBeGreaterThan(10)
        expect(stops).toBeLessThan(LIMIT)
      })
    }
  })
}

test.describe('in dialogs', () => {
  test.use({ viewport: { width: 360, height: 740 } })

  test('the focus is seen in the menu and in the chat', async ({ page, server }) => {
    test.slow()
    await settle(page)
    await open(page, `${server.access.url}/imprint`)
    await page.getByRole('button', { name: 'Open menu' }).press('Enter')
    await expect(page.getByRole('dialog', { name: 'Menu' })).toBeVisible()
    expect((await walk(page, 8)).weak).toEqual([])
    await page.keyboard.press('Escape')

    await page.getByRole('button', { name: /^Open chat/ }).press('Enter')
    const chat = page.getByRole('dialog')
    await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
    const isOutside = async () => (await chat.locator(':focus').count()) === 0
    const { stops, weak } = await walk(page, LIMIT, isOutside)
    expect(weak).toEqual([])
    expect(stops).toBeGreaterThan(3)
  })
})

/** Returns the controls whose only edges are their background or a shadow. */
function withoutEdges(controls: Locator) {
  return controls.evaluateAll((elements) =>
    elements
      .filter((element) => element.checkVisibility() && element.getClientRects().length > 0)
      .filter((element) => parseFloat(getComputedStyle(element).borderTopWidth) === 0)
      .map((element) => element.outerHTML.slice(0, 160)),
  )
}

test('buttons and fields have edges where the system chooses the colours', async ({
  page,
  server,
}) => {
  await settle(page)
  await page.emulateMedia({ forcedColors: 'active' })
  for (const route of ['/', '/careers', '/auth']) {
    await open(page, server.access.url + route)
    await page.waitForLoadState('networkidle')
    const controls = page.locator('button, input:not([type=checkbox]), select, textarea')
    expect(await withoutEdges(controls), route).toEqual([])
  }
  // Links that look like buttons.
  await page.goto(server.access.url)
  for (const name of ['Discover', 'Get in touch'])
    expect(await withoutEdges(page.getByRole('link', { name })), name).toEqual([])
})
