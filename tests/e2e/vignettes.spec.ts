import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { expectSound, open, SCREENS, settle } from './support.ts'

/** The longest that something may move beside a text without a button that stops it (WCAG 2.2.2), in milliseconds. */
const MOTION_LIMIT_MS = 5_000

/** Returns the states of the animations in the vignette called `title`. */
function states(page: Page, title: string) {
  const vignette = page.locator('figure.vignette', { hasText: title })
  return vignette.evaluate((figure) =>
    figure.getAnimations({ subtree: true }).map(({ playState }) => playState),
  )
}

test('a vignette moves only while it is seen, and not for long', async ({ browser, server }) => {
  const page = await browser.newPage({ reducedMotion: 'no-preference' })
  await settle(page)
  await open(page, server.access.url)
  const title = 'The moderation queue'
  const queue = page.locator('figure.vignette', { hasText: title })
  await expect(queue).toHaveAttribute('data-paused', 'true')
  expect(new Set(await states(page, title))).toEqual(new Set(['paused']))
  await queue.scrollIntoViewIfNeeded()
  await expect.poll(() => states(page, title)).not.toContain('paused')
  await page.evaluate(() => window.scrollTo({ top: 0, behavior: 'instant' }))
  await expect.poll(async () => new Set(await states(page, title))).not.toContain('running')
  const longest = await page.evaluate(() =>
    [...document.querySelectorAll('.vignette')]
      .flatMap((figure) => figure.getAnimations({ subtree: true }))
      .map(({ effect }) => Number(effect?.getComputedTiming().endTime)),
  )
  expect(Math.max(...longest)).toBeLessThanOrEqual(MOTION_LIMIT_MS)
  await queue.scrollIntoViewIfNeeded()
  await expect.poll(() => states(page, title)).toEqual([])
  await page.close()
})

test('where motion is unwelcome, each vignette is its last picture', async ({ page, server }) => {
  await settle(page)
  await open(page, server.access.url)
  const vignettes = page.locator('figure.vignette')
  expect(await vignettes.count()).toBe(7)
  for (const vignette of await vignettes.all()) {
    await vignette.scrollIntoViewIfNeeded()
    const moving = await vignette.evaluate(
      (figure) => figure.getAnimations({ subtree: true }).length,
    )
    expect(moving).toBe(0)
  }
  const verdict = vignettes.filter({ hasText: 'The moderation queue' }).getByText('To a person')
  await expect(verdict).toBeVisible()
  await expect(verdict).toHaveCSS('opacity', '1')
})

test('the fan app takes the name, crest and colours that are chosen by keyboard', async ({
  page,
  server,
}) => {
  await settle(page)
  await open(page, server.access.url)
  const solution = page.locator('#solution')
  await solution.getByLabel('Club name').fill('Ashdown Rovers')
  await expect(solution.getByText('Ashdown Rovers').first()).toBeAttached()
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowRight')
  await expect(solution.getByRole('radio', { name: 'Picks' })).toBeChecked()
  await expect(solution.getByText('1,240 Lamps')).toBeAttached()
  const deep = () =>
    solution
      .locator('figure', { hasText: 'Player of the match?' })
      .evaluate((figure) => getComputedStyle(figure).backgroundColor)
  const before = await deep()
  await page.keyboard.press('Tab')
  await page.keyboard.press('ArrowRight')
  await expect(solution.getByRole('radio', { name: 'Claret and sky' })).toBeChecked()
  await expect.poll(deep).not.toBe(before)
})

test('the tour can be read in each of the colours, on a phone and on a desk', async ({
  page,
  server,
}) => {
  await settle(page)
  await open(page, server.access.url)
  const solution = page.locator('#solution')
  await solution.getByRole('button', { name: /Adeyemi/ }).click()
  for (const screen of SCREENS) {
    await page.setViewportSize(screen)
    for (const colours of await solution
      .getByRole('group', { name: 'Colours' })
      .getByRole('radio')
      .all()) {
      await colours.check()
      await expectSound(page, '#solution')
    }
  }
})

test('the calculator takes its figures to the contact form', async ({ page, server }) => {
  await settle(page)
  await open(page, server.access.url)
  const calculator = page.getByRole('form', { name: 'Calculator of guarantee and share' })
  const fans = calculator.getByRole('slider', { name: 'Fans in the app' })
  await fans.focus()
  await page.keyboard.press('ArrowRight')
  await expect(fans).toHaveAttribute('aria-valuetext', '75,000')
  const link = page.getByRole('link', { name: 'Ask for these figures' })
  await link.focus()
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/#contact$/)
  const message = page.getByRole('form', { name: 'Contact form' }).getByLabel('Message')
  await expect(message).toBeInViewport()
  await expect(message).toHaveValue(/75,000 fans in the app.*£430,000 a year for the club\.$/)
  await message.fill('We play in blue.')
  await link.press('Enter')
  await expect(message).toHaveValue(/^We play in blue\.\n\n.*75,000 fans/)
})
