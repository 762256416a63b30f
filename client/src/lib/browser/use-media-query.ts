import { useSyncExternalStore } from 'react'

import { MOBILE_BREAKPOINT } from '@/lib/constants'

/** Returns whether the media query holds now; follows its changes. While the site is built it does not. */
export function useMediaQuery(query: string) {
  return useSyncExternalStore(
    (notify) => {
      const list = window.matchMedia(query)
      list.addEventListener('change', notify)
      return () => list.removeEventListener('change', notify)
    },
    () => window.matchMedia(query).matches,
    () => false,
  )
}

/** Reports whether the screen is narrower than `MOBILE_BREAKPOINT`. */
export function useIsPhone() {
  return useMediaQuery(`(width < ${MOBILE_BREAKPOINT}px)`)
}

/** Reports whether the visitor prefers reduced motion. */
export function usePrefersReducedMotion() {
  return useMediaQuery('(prefers-reduced-motion: reduce)')
}
