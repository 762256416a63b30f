import { useEffect } from 'react'

import { useAreSettingsLoaded, useSiteSettings } from '@/lib/content/use-site-settings'

import { siteElements } from './head'
import { setHeadElements } from './head-elements'

/** Updates the elements of `<head>` that all pages share: the icons and the site's name, according to the settings. */
export function DocumentHead() {
  const { favicons, siteName } = useSiteSettings()
  const isLoaded = useAreSettingsLoaded()

  useEffect(() => {
    // The page has icons already: the server's, or the defaults.
    if (isLoaded) setHeadElements(siteElements({ favicons, siteName }))
  }, [favicons, siteName, isLoaded])

  return null
}
