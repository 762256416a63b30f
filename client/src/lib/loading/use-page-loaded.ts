import { useSyncExternalStore } from 'react'

/** How long the page's own files are waited for, in milliseconds. */
const LIMIT_MS = 10_000

function subscribe(notify: () => void) {
  window.addEventListener('load', notify)
  const timer = setTimeout(notify, LIMIT_MS)
  return () => {
    window.removeEventListener('load', notify)
    clearTimeout(timer)
  }
}

/** Reports whether the page's own files are loaded, or have had ten seconds, so that others may be loaded now. */
export function usePageLoaded() {
  return useSyncExternalStore(
    subscribe,
    () => document.readyState === 'complete' || performance.now() >= LIMIT_MS,
    () => false,
  )
}
