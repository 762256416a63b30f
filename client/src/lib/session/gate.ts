import { readLocal, writeLocal } from '@/lib/browser/browser-storage'

const FLAG_KEY = 'site_authenticated'

/** Returns whether this browser has been let through the password gate. */
export function isSiteAuthenticated() {
  return readLocal(FLAG_KEY) === 'true'
}

/** Remembers that this browser may pass the gate. */
export function markSiteAuthenticated() {
  writeLocal(FLAG_KEY, 'true')
}
