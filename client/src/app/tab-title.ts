import type { PageTitles } from '@/lib/content/default-settings'
import type { SiteSettings } from '@/lib/content/site-settings'

import pages from './pages.json' with { type: 'json' }

/** The title of the login, which the settings do not rename. */
const LOGIN_TITLE = 'Login'

/** What the table of pages says about one of them. */
export interface PageFacts {
  /** The page's name in the setting page_titles; null where the settings do not rename it. */
  title: keyof PageTitles | null
  description: string
  /** Keeps search engines away. */
  noIndex?: boolean
}

/** The pages by their paths, but for the articles. */
export const PAGES = pages as Record<string, PageFacts>

/** The path without the slashes at its end. */
export function canonicalPath(pathname: string) {
  return pathname.replace(/\/+$/, '') || '/'
}

/** What is fixed about the page at this path; undefined for articles and unknown paths. */
export function pageFacts(pathname: string): PageFacts | undefined {
  return PAGES[canonicalPath(pathname)]
}

/**
 * The tab's title: "site | title" at home, "title | site" elsewhere. Articles pass their own title; other paths
 * below /blog have none, unknown paths have the title of the not-found page.
 */
export function tabTitle(
  pathname: string,
  { siteName, pageTitles }: SiteSettings,
  articleTitle?: string,
) {
  if (articleTitle) return `${articleTitle} | ${siteName}`
  const facts = pageFacts(pathname)
  if (!facts && pathname.startsWith('/blog')) return siteName
  if (facts?.title === 'home') return `${siteName} | ${pageTitles.home}`
  const title = facts ? facts.title && pageTitles[facts.title] : pageTitles.not_found
  return `${title ?? LOGIN_TITLE} | ${siteName}`
}
