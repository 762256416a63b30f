import { describe, expect, it } from 'vitest'

import { DEFAULT_SITE_SETTINGS } from '@/lib/content/site-settings'

import { tabTitle } from './tab-title'

const settings = { ...DEFAULT_SITE_SETTINGS, siteName: 'Terrace' }

describe('the title of the tab', () => {
  it.each([
    ['/', 'Terrace | Digital Assets & Viewing Experience'],
    ['/about', 'About Us | Terrace'],
    ['/careers/', 'Careers | Terrace'],
    ['/privacy', 'Privacy Policy | Terrace'],
    ['/cookies', 'Cookie Policy | Terrace'],
    ['/imprint', 'Imprint | Terrace'],
    ['/password', 'Enter Password | Terrace'],
    ['/auth', 'Login | Terrace'],
    ['/offside', 'Page Not Found | Terrace'],
    ['/blog/offside', 'Terrace'],
  ])('of %s is %s', (path, title) => {
    expect(tabTitle(path, settings)).toBe(title)
  })

  it('follows the setting page_titles', () => {
    const pageTitles = { ...settings.pageTitles, about: 'The people', not_found: 'Gone' }
    expect(tabTitle('/about', { ...settings, pageTitles })).toBe('The people | Terrace')
    expect(tabTitle('/nowhere', { ...settings, pageTitles })).toBe('Gone | Terrace')
  })

  it('is the title of the article on its page', () => {
    expect(tabTitle('/blog/beyond-ads', settings, 'Beyond Ads')).toBe('Beyond Ads | Terrace')
  })
})
