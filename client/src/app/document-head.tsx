import { useEffect } from 'react'
import { useLocation } from 'react-router-dom'

import type { SiteSettings } from '@/lib/site-settings'
import { useSiteSettings } from '@/lib/use-site-settings'

/** The tab's title: "site | title" at home, "title | site" elsewhere. */
export function tabTitle(pathname: string, { siteName, pageTitles }: SiteSettings) {
  if (pathname === '/') return `${siteName} | ${pageTitles.home}`
  if (pathname.startsWith('/blog')) return siteName
  return `${pageTitles.not_found} | ${siteName}`
}

/** Sets the attributes of the element in `<head>` that `selector` describes, and makes it where it is missing. */
function setHeadElement(tag: 'link' | 'meta', key: [string, string], value: [string, string]) {
  const found = document.head.querySelector(`${tag}[${key[0]}="${key[1]}"]`)
  const element = found ?? document.head.appendChild(document.createElement(tag))
  element.setAttribute(...key)
  element.setAttribute(...value)
}

/** Keeps the tab's title, icons and link previews as the site's settings have them. */
export function DocumentHead() {
  const { pathname } = useLocation()
  const settings = useSiteSettings()

  useEffect(() => {
    const title = tabTitle(pathname, settings)
    document.title = title
    setHeadElement('meta', ['property', 'og:title'], ['content', title])
  }, [pathname, settings])

  useEffect(() => {
    const { favicons, ogImage, siteDescription, siteName } = settings
    setHeadElement('link', ['rel', 'icon'], ['href', favicons.favicon])
    setHeadElement('link', ['rel', 'apple-touch-icon'], ['href', favicons.apple_touch_icon])
    setHeadElement('link', ['rel', 'manifest'], ['href', favicons.manifest])
    setHeadElement('meta', ['name', 'description'], ['content', siteDescription])
    setHeadElement('meta', ['property', 'og:site_name'], ['content', siteName])
    setHeadElement('meta', ['property', 'og:description'], ['content', siteDescription])
    setHeadElement('meta', ['property', 'og:image'], ['content', ogImage])
  }, [settings])

  return null
}
