import { readLocal, writeLocal } from '@/lib/browser/browser-storage'
import { SESSION } from '@/lib/constants'

const STORAGE_KEY = 'last_activity'

/** How precisely the time of the last activity is shared with other tabs, in milliseconds. */
const PRECISION_MS = 1000

/**
 * Notes what the visitor does, from now on. `idleSince` is the time of the last activity in any tab: somebody
 * who reads here is not idle in the tab behind.
 */
export function watchActivity() {
  let last = Date.now()
  const share = () => void writeLocal(STORAGE_KEY, String(last))
  share()

  const note = () => {
    const now = Date.now()
    const isWorthSharing = now - last >= PRECISION_MS
    last = now
    if (isWorthSharing) share()
  }
  const options = { passive: true, capture: true }
  for (const event of SESSION.activityEvents) window.addEventListener(event, note, options)
  return {
    idleSince: () => Math.max(last, Number(readLocal(STORAGE_KEY)) || 0),
    stop: () => {
      for (const event of SESSION.activityEvents) window.removeEventListener(event, note, options)
    },
  }
}
