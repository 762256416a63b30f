import { useSyncExternalStore } from 'react'

function subscribe(notify: () => void) {
  window.addEventListener('load', notify)
  return () => window.removeEventListener('load', notify)
}

/** Reports whether the page's own files are loaded, so that others may be loaded now. */
export function usePageLoaded() {
  return useSyncExternalStore(
    subscribe,
    () => document.readyState === 'complete',
    () => false,
  )
}
