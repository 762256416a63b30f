import { useSyncExternalStore } from 'react'

function subscribe(notify: () => void) {
  window.addEventListener('load', notify)
  return () => window.removeEventListener('load', notify)
}

/** Whether the page's own files have all come, so that what can wait may now be loaded. */
export function usePageLoaded() {
  return useSyncExternalStore(
    subscribe,
    () => document.readyState === 'complete',
    () => false,
  )
}
