import { readLocal } from '@/lib/browser/browser-storage'

/** The key of supabase-js' session in local storage. */
export const AUTH_STORAGE_KEY = 'terrace-auth'

/** Reports whether a user is, or recently was, signed in. It can be called before supabase-js is loaded. */
export function hasStoredSession() {
  return readLocal(AUTH_STORAGE_KEY) !== null
}
