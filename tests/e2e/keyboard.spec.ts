import type { Page } from '@playwright/test'

import { expect, test } from './fixtures.ts'
import { expectSound, open, settle } from './support.ts'

/** More steps than any page has. */
const LIMIT = 200

interface Stop {
  name: string
  /** What is wrong with it; empty where nothing is. */
  faults: string[]
}

/** Returns the focused element and whether it is visible; null at the end of the page. */
function focused(page: Page): Promise<Stop | null> {
  return page.evaluate(async () => {
    const element = document.activeElement
    if (!element || element === document.body) return null
    // An element that moves into view when it is focused has to arrive first.
    await Promise.allSettled(element.getAnimations().map(({ finished }) => finished))
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element)
    const isMarked =
      (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
    const { top, bottom, left, right, width, height } = element.getBoundingClientRect()
    const isOnScreen =
      bottom > 0 && top < window.innerHeight && right > 0 && left < window.innerWidth
    return {
      name: `${element.tagName} ${element.getAttribute('aria-label') ?? element.textContent.slice(0, 40)}`,
      faults: [
        ...(isMarked ? [] : ['has no mark of the focus']),
        ...(isOnScreen && width > 0 && height > 0 ? [] : ['is not on the screen']),
      ],
    }
  })
}

for (const route of ['/', '/about', '/careers', '/cookies', '/blog/beyond-ads', '/auth', '/404']) {
  test(`the keyboard reaches everything on ${route} and is seen there`, async ({
    page,
    server,
  }) => {
    await settle(page)
    await open(page, server.access.url + route)
    await page.waitForLoadState('networkidle')
    const stops: Stop[] = []
    for (let step = 0; step < LIMIT; step++) {
      await page.keyboard.press('Tab')
      const stop = await focused(page)
      if (!stop) break
      stops.push(stop)
    }
    expect(stops.filter(({ faults }) => faults.length > 0)).toEqual([])
    const names = stops.map(({ name }) => name)
    expect(names[0]).toBe('A Skip to content')
    expect(names).toContain('BUTTON Cookie Settings')
    expect(names.length).toBeLessThan(LIMIT)
  })
}

test('the skip link leads past the header', async ({ page, server }) => {
  await settle(page)
  await open(page, `${server.access.url}/about`)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(page.getByRole('main')).toBeFocused()
})

test('a dialog keeps the keyboard, and gives it back', async ({ page, server }) => {
  await settle(page)
  await page.setViewportSize({ width: 360, height: 740 })
  await open(page, `${server.access.url}/imprint`)
  const button = page.getByRole('button', { name: 'Open menu' })
  await button.press('Enter')
  const menu = page.getByRole('dialog', { name: 'Menu' })
  const last = menu.getByRole('link', { name: 'Login' })
  const first = menu.getByRole('button', { name: 'Close menu' })
  await expect(first).toBeFocused()
  await page.keyboard.press('Shift+Tab')
  await expect(last).toBeFocused()
  await page.keyboard.press('Tab')
  await expect(first).toBeFocused()
  await page.keyboard.press('Escape')
  await expect(button).toBeFocused()
})

test.describe('by keyboard alone, on a phone', () => {
  test.use({ viewport: { width: 360, height: 740 } })
  test.beforeEach(async ({ page, server }) => {
    await settle(page)
    await open(page, `${server.access.url}/imprint`)
  })

  test('the menu passes axe while it is open', async ({ page }) => {
    await page.getByRole('button', { name: 'Open menu' }).press('Enter')
    await expect(page.getByRole('dialog', { name: 'Menu' })).toBeVisible()
    await expectSound(page, '[role=dialog]')
  })

  test('the chat takes the focus, passes axe and gives the focus back', async ({ page }) => {
    await page.getByRole('button', { name: /^Open chat/ }).press('Enter')
    await expect(page.getByRole('dialog')).toBeFocused()
    await expect(page.getByRole('list', { name: 'Suggested questions' })).toBeVisible()
    await expectSound(page, '[role=dialog]')
    await page.keyboard.press('Tab')
    await expect(page.getByRole('button', { name: 'Close chat' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('button', { name: 'Open chat' })).toBeFocused()
  })

  test('the cookie settings take the focus, pass axe and give the focus back', async ({ page }) => {
    const settings = page.getByRole('button', { name: 'Cookie Settings' })
    await settings.press('Enter')
    const banner = page.getByRole('region', { name: 'Cookie Policy' })
    await expect(banner).toBeFocused()
    await expectSound(page, '[aria-labelledby=cookie-banner-heading]')
    for (const name of [
      'Close and decline',
      'Privacy Policy',
      'Cookie Policy',
      'Decline',
      'Accept',
    ]) {
      await page.keyboard.press('Tab')
      const stop = banner.getByRole(name.includes('Policy') ? 'link' : 'button', {
        name,
        exact: true,
      })
      await expect(stop).toBeFocused()
    }
    await page.keyboard.press('Enter')
    await expect(banner).toHaveCount(0)
    await expect(settings).toBeFocused()
  })
})

test('the popup keeps the focus, passes axe and gives the focus back', async ({ page, server }) => {
  await page.setViewportSize({ width: 360, height: 740 })
  await page.addInitScript(() => localStorage.setItem('cookieConsent', 'declined'))
  await open(page, `${server.access.url}/imprint`)
  await page.getByRole('button', { name: /^Open chat/ }).waitFor()
  const opener = page.getByRole('button', { name: 'Cookie Settings' })
  await opener.focus()
  await page.evaluate(() => document.dispatchEvent(new MouseEvent('mouseleave', { clientY: 0 })))
  const popup = page.getByRole('dialog', { name: /^Stay Ahead of the Game/ })
  await expect(popup).toBeVisible()
  await expectSound(page, '[role=dialog]')
  for (let step = 0; step < 8; step++) {
    await page.keyboard.press('Tab')
    await expect(popup.locator(':focus')).toHaveCount(1)
  }
  await page.keyboard.press('Escape')
  await expect(popup).toHaveCount(0)
  await expect(opener).toBeFocused()
})
