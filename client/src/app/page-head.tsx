import { useEffect } from 'react'
import { useLocation } from 'react-router-dom'

import { useAreSettingsLoaded, useSiteSettings } from '@/lib/content/use-site-settings'

import { pageElements } from './head'
import { isHeadOf, setHeadElements, setJsonLd } from './head-elements'
import { canonicalPath, routeOf } from './routes'
import { tabTitle } from './tab-title'

interface PageHeadProps {
  /** The title of an article; other pages have theirs from the settings. */
  articleTitle?: string
  /** For search engines and link previews; by default the page's own, else the site's. */
  description?: string
  /** Address of the picture in link previews; by default the site's. */
  image?: string
  /** The page's subject in the vocabulary of schema.org; undefined while it is not known. */
  jsonLd?: readonly object[]
  /** Set while the page does not know its own content yet. */
  isPending?: boolean
}

const NO_JSON_LD: readonly object[] = []

/**
 * Updates the page's entries in `<head>`: title, description, canonical address, link previews, JSON-LD. Entries that a
 * server has written for this page stay until the page has loaded the same content.
 */
export function PageHead(props: PageHeadProps) {
  const { articleTitle, description, image, jsonLd, isPending } = props
  const { pathname } = useLocation()
  const settings = useSiteSettings()
  const isKnown = useAreSettingsLoaded() && isPending !== true
  const route = routeOf(pathname)
  const isHidden = route.isHidden ?? false
  const summary = description ?? (pathname === '/' ? null : route.description)
  const { origin } = window.location
  const url = `${origin}${canonicalPath(pathname)}`

  useEffect(() => {
    if (!isKnown && isHeadOf(url)) return
    const title = tabTitle(pathname, settings, articleTitle)
    document.title = title
    setHeadElements(
      pageElements({
        title,
        description: summary ?? settings.siteDescription,
        url,
        image: new URL(image ?? settings.ogImage, origin).href,
        isArticle: articleTitle !== undefined,
        isHidden,
      }),
    )
  }, [pathname, settings, articleTitle, summary, image, isHidden, isKnown, url, origin])

  const items = 'jsonLd' in props ? jsonLd : NO_JSON_LD
  useEffect(() => {
    if (isKnown && items) setJsonLd(items)
  }, [items, isKnown])

  // The entries of the previous page must not stay.
  useEffect(() => () => setJsonLd(NO_JSON_LD), [pathname])

  return null
}
