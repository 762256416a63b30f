import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { connect } from '../support/client.ts'
import type { Server } from '../support/server.mjs'
import { expect } from './fixtures.ts'

/** The screen sizes of the tests: a phone and a desktop. */
export const SCREENS = [
  { width: 360, height: 740 },
  { width: 1280, height: 800 },
]

/** Keeps the cookie banner and the newsletter popup from opening over the page. */
export async function settle(page: Page) {
  await page.addInitScript(() => {
    localStorage.setItem('cookieConsent', 'declined')
    localStorage.setItem('newsletter_popup_disabled', 'true')
  })
}

/** Opens the page and waits until its scripts have replaced the first screen that the server sent. */
export async function open(page: Page, url: string) {
  await page.goto(url)
  await expect(page.getByRole('contentinfo')).toBeAttached()
}

/**
 * Waits until all parts of the page are laid out. Before that, what is below the screen grows, and what is looked for or
 * clicked moves.
 */
export async function layoutEnd(page: Page) {
  await expect(page.locator('[data-layout]')).toHaveCount(0)
}

/** The properties of an entry of a page's performance timeline that tests use. */
interface TimelineEntry {
  /** The score of a layout shift. */
  value: number | undefined
  /** What kind of element was painted. */
  tag: string | undefined
  /** The elements that a layout shift moved: the beginning of each one's HTML, and its places before and after. */
  moved: string[] | undefined
}

/** Makes pages opened from now on record timeline entries of `type`; returns a function that reads them. */
export async function timeline(page: Page, type: string) {
  await page.addInitScript((type) => {
    const entries: TimelineEntry[] = []
    Object.assign(window, { timeline: entries })
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { value, element, sources } = entry as PerformanceEntry & {
          value?: number
          element?: Element
          sources?: { node?: Node; previousRect: DOMRect; currentRect: DOMRect }[]
        }
        const place = ({ x, y, width, height }: DOMRect) => `${x},${y} ${width}×${height}`
        const moved = sources?.map(({ node, previousRect, currentRect }) => {
          const name = node instanceof Element ? node.outerHTML.slice(0, 120) : node?.textContent
          return `${name}: ${place(previousRect)} → ${place(currentRect)}`
        })
        entries.push({ value, tag: element?.tagName, moved })
      }
    }).observe({ type, buffered: true })
  }, type)
  return () => page.evaluate(() => (window as unknown as { timeline: TimelineEntry[] }).timeline)
}

/**
 * Checks that the page has no accessibility defects that axe finds, and that nothing on it is wider than the screen.
 * Where `parts` (selectors) are named, axe looks at these alone.
 */
export async function expectSound(page: Page, ...parts: string[]) {
  const axe = parts.reduce((builder, part) => builder.include(part), new AxeBuilder({ page }))
  const { violations } = await axe.analyze()
  const found = violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`,
  )
  expect(found).toEqual([])
  const overflow = await page.evaluate(
    () => document.documentElement.scrollWidth - window.innerWidth,
  )
  expect(overflow).toBeLessThanOrEqual(0)
}

/** Makes a user with a confirmed address. Returns the user's id. */
export async function createUser(server: Server, email: string, password: string, name: string) {
  const { url, serviceKey } = server.access
  const { data, error } = await connect(url, serviceKey).auth.admin.createUser({
    email,
    password,
    email_confirm: true,
    user_metadata: { full_name: name },
  })
  if (error) throw error
  return data.user.id
}
