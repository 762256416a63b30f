import type { SiteSettings } from '@/lib/content/site-settings'

import { NOT_FOUND, routeOf } from './routes.ts'

/** The title of the login, which the settings cannot rename. */
const LOGIN_TITLE = 'Login'

/**
 * Returns the tab's title: "site | title" on the home page, "title | site" elsewhere. Articles pass their own title; other
 * paths below /blog have none, unknown paths have the title of the not-found page.
 */
export function tabTitle(
  pathname: string,
  { siteName, pageTitles }: SiteSettings,
  articleTitle?: string,
) {
  if (articleTitle) return `${articleTitle} | ${siteName}`
  const route = routeOf(pathname)
  if (route === NOT_FOUND && pathname.startsWith('/blog')) return siteName
  const title = route.title ? pageTitles[route.title] : LOGIN_TITLE
  return route.title === 'home' ? `${siteName} | ${title}` : `${title} | ${siteName}`
}
