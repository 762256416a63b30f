import { useQuery } from '@tanstack/react-query'

import { DEFAULT_SITE_SETTINGS, loadSiteSettings } from './site-settings'

function useStoredSettings() {
  return useQuery({
    queryKey: ['site-settings'],
    queryFn: loadSiteSettings,
    meta: { tables: ['settings'] },
  }).data
}

/** The site's settings: the defaults at first, then what is stored. */
export function useSiteSettings() {
  return useStoredSettings() ?? DEFAULT_SITE_SETTINGS
}

/** Whether the settings are what is stored, and no longer the defaults of the first moment. */
export function useAreSettingsLoaded() {
  return useStoredSettings() !== undefined
}
