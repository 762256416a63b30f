import { readLocal } from '@/lib/browser/browser-storage'

/** Where supabase-js keeps the session, in local storage. */
export const AUTH_STORAGE_KEY = 'terrace-auth'

/** Whether somebody is signed in, or was when the page was last open; asked before supabase-js is there. */
export function hasStoredSession() {
  return readLocal(AUTH_STORAGE_KEY) !== null
}
