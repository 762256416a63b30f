import { useEffect } from 'react'

import { useAreSettingsLoaded, useSiteSettings } from '@/lib/content/use-site-settings'

import { siteElements } from './head'
import { setHeadElements } from './head-elements'

/** Keeps what all pages share in `<head>`: the icons and the site's name, as the settings have them. */
export function DocumentHead() {
  const { favicons, siteName } = useSiteSettings()
  const isLoaded = useAreSettingsLoaded()

  useEffect(() => {
    // The page came with icons: the server's, else the defaults.
    if (isLoaded) setHeadElements(siteElements({ favicons, siteName }))
  }, [favicons, siteName, isLoaded])

  return null
}
