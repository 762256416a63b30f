import { useEffect } from 'react'

import { useSiteSettings } from '@/lib/use-site-settings'

import { setHeadElement } from './head-elements'

/** Keeps what all pages share in `<head>`: the icons and the site's name, as the settings have them. */
export function DocumentHead() {
  const { favicons, siteName } = useSiteSettings()

  useEffect(() => {
    setHeadElement('link', ['rel', 'icon'], ['href', favicons.favicon])
    setHeadElement('link', ['rel', 'apple-touch-icon'], ['href', favicons.apple_touch_icon])
    setHeadElement('link', ['rel', 'manifest'], ['href', favicons.manifest])
    setHeadElement('meta', ['property', 'og:site_name'], ['content', siteName])
  }, [favicons, siteName])

  return null
}
