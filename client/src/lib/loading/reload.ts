import { readSession, writeSession } from '@/lib/browser/browser-storage'
import { keepDrafts } from '@/lib/forms/drafts'

const STORAGE_KEY = 'reloaded_at'

/** How long no second reload is made by itself, in milliseconds. */
const PAUSE_MS = 60_000

/** How long a response of the site's server is waited for, in milliseconds. */
const PATIENCE_MS = 5000

/** Reports whether the site's server responds. A browser that is online may have no way to it. */
export async function isServerReachable() {
  if (!navigator.onLine) return false
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    const response = await fetch('/', { method: 'HEAD', cache: 'no-store', signal })
    return response.ok
  } catch {
    return false
  }
}

/** Loads the page again; what was typed is in its forms afterwards. */
export function reloadPage() {
  keepDrafts()
  window.location.reload()
}

/**
 * Loads the page again, or the one at `address`, because a file of it no longer exists: a new version of the site was
 * deployed. Returns false if that was done a moment ago and has not helped.
 */
export function reloadForNewVersion(address?: string) {
  const last = Number(readSession(STORAGE_KEY) ?? 0)
  if (Date.now() - last < PAUSE_MS) return false
  // Without a place to note it, one reload could follow the other for ever.
  if (!writeSession(STORAGE_KEY, String(Date.now()))) return false
  keepDrafts()
  if (address === undefined) window.location.reload()
  else window.location.assign(address)
  return true
}
