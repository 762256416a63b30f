import { useEffect } from 'react'
import { useLocation } from 'react-router-dom'

import { useSiteSettings } from '@/lib/use-site-settings'

import { setHeadElement, setJsonLd } from './head-elements'
import { pageFacts, tabTitle } from './tab-title'

interface PageHeadProps {
  /** The title of an article; other pages have theirs from the settings. */
  articleTitle?: string
  /** For search engines and link previews; by default the page's own, else the site's. */
  description?: string
  /** Address of the picture in link previews; by default the site's. */
  image?: string
  /** What the page is about in the vocabulary of schema.org. */
  jsonLd?: readonly object[]
  /** Set by pages that search engines should not list. */
  noIndex?: boolean
}

/** Keeps the page's entries in `<head>`: title, description, canonical address, link previews, JSON-LD. */
export function PageHead({ articleTitle, description, image, jsonLd, noIndex }: PageHeadProps) {
  const { pathname } = useLocation()
  const settings = useSiteSettings()
  const facts = pageFacts(pathname)
  const isHidden = noIndex ?? facts?.noIndex ?? false
  const summary = description ?? (pathname === '/' ? null : facts?.description)

  useEffect(() => {
    const title = tabTitle(pathname, settings, articleTitle)
    const text = summary ?? settings.siteDescription
    const url = `${window.location.origin}${pathname === '/' ? '/' : pathname.replace(/\/+$/, '')}`
    const picture = new URL(image ?? settings.ogImage, window.location.origin).href
    document.title = title
    setHeadElement('link', ['rel', 'canonical'], ['href', url])
    setHeadElement('meta', ['name', 'description'], ['content', text])
    setHeadElement('meta', ['name', 'robots'], ['content', isHidden ? 'noindex' : 'index, follow'])
    const preview = { title, description: text, image: picture }
    const og = { ...preview, url, type: articleTitle ? 'article' : 'website' }
    for (const [name, value] of Object.entries(og))
      setHeadElement('meta', ['property', `og:${name}`], ['content', value])
    for (const [name, value] of Object.entries(preview))
      setHeadElement('meta', ['name', `twitter:${name}`], ['content', value])
    setHeadElement('meta', ['name', 'twitter:card'], ['content', 'summary_large_image'])
  }, [pathname, settings, articleTitle, summary, image, isHidden])

  useEffect(() => setJsonLd(jsonLd ?? []), [jsonLd])

  return null
}
