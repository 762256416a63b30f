import type { SiteSettings } from '@/lib/content/site-settings'

/** An element of `<head>`: `key` identifies it among those with its tag, `value` is its content. */
export interface HeadElement {
  tag: 'link' | 'meta'
  key: readonly [name: string, value: string]
  value: readonly [name: string, value: string]
}

/** The description of a page for search engines and link previews. Addresses are absolute. */
export interface HeadFacts {
  title: string
  description: string
  url: string
  image: string
  isArticle: boolean
  /** Keeps search engines away. */
  isHidden: boolean
}

/** The number of characters of a description that search engines show. */
export const DESCRIPTION_LENGTH = 160

function meta(attribute: 'name' | 'property', name: string, content: string): HeadElement {
  return { tag: 'meta', key: [attribute, name], value: ['content', content] }
}

function link(rel: string, href: string): HeadElement {
  return { tag: 'link', key: ['rel', rel], value: ['href', href] }
}

/** Returns a page's own elements of `<head>`, besides its title. Sources: the Open Graph protocol, X's cards. */
export function pageElements(facts: HeadFacts): HeadElement[] {
  const { title, description, url, image, isArticle, isHidden } = facts
  const preview = Object.entries({ title, description, image })
  return [
    link('canonical', url),
    meta('name', 'description', description),
    meta('name', 'robots', isHidden ? 'noindex' : 'index, follow'),
    ...preview.map(([name, value]) => meta('property', `og:${name}`, value)),
    meta('property', 'og:url', url),
    meta('property', 'og:type', isArticle ? 'article' : 'website'),
    meta('name', 'twitter:card', 'summary_large_image'),
    ...preview.map(([name, value]) => meta('name', `twitter:${name}`, value)),
  ]
}

/** Returns the elements of `<head>` that all pages share: the icons and the site's name. */
export function siteElements({
  favicons,
  siteName,
}: Pick<SiteSettings, 'favicons' | 'siteName'>): HeadElement[] {
  return [
    link('icon', favicons.favicon),
    link('apple-touch-icon', favicons.apple_touch_icon),
    link('manifest', favicons.manifest),
    meta('property', 'og:site_name', siteName),
  ]
}

/** Returns entities as one JSON-LD document. Source: JSON-LD 1.1, section 4.10. */
export function jsonLdDocument(items: readonly object[]) {
  return { '@context': 'https://schema.org', '@graph': items }
}
