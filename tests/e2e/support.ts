import AxeBuilder from '@axe-core/playwright'
import type { Page } from '@playwright/test'

import { connect } from '../support/client.ts'
import type { Server } from '../support/server.mjs'
import { expect } from './fixtures.ts'

/** The screens that everything is tried on: a phone's and a desk's. */
export const SCREENS = [
  { width: 360, height: 740 },
  { width: 1280, height: 800 },
]

/** Keeps everything from floating over the page until its test wants it to. */
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

/** What of an entry of a page's performance timeline tests look at. */
interface TimelineEntry {
  /** How far a layout shift shifts. */
  value: number | undefined
  /** What kind of element was painted. */
  tag: string | undefined
  /** What a layout shift shifted: the beginning of each element's text form, and from where to where. */
  moved: string[] | undefined
}

/** Has the pages that are opened from here on note the entries of `type` in their timeline; returns a look at them. */
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
