import { useQuery } from '@tanstack/react-query'

import { DEFAULT_SITE_SETTINGS, loadSiteSettings } from './site-settings'

function useStoredSettings() {
  return useQuery({
    queryKey: ['site-settings'],
    queryFn: loadSiteSettings,
    meta: { tables: ['settings'] },
  }).data
}

/** Returns the site's settings: first the defaults, then the stored ones. */
export function useSiteSettings() {
  return useStoredSettings() ?? DEFAULT_SITE_SETTINGS
}

/** Returns whether the stored settings have been loaded. */
export function useAreSettingsLoaded() {
  return useStoredSettings() !== undefined
}
