import { useQuery } from '@tanstack/react-query'

import { DEFAULT_SITE_SETTINGS, loadSiteSettings } from './site-settings'

/** The site's settings: the defaults at first, then what is stored. */
export function useSiteSettings() {
  const { data } = useQuery({ queryKey: ['site-settings'], queryFn: loadSiteSettings })
  return data ?? DEFAULT_SITE_SETTINGS
}
