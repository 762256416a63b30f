import { useSyncExternalStore } from 'react'

/** The page's position when it was last looked at. Reading it while the page is being changed would force a layout. */
let top = 0

function subscribe(notify: () => void) {
  const look = () => {
    top = window.scrollY
    notify()
  }
  const frame = requestAnimationFrame(look)
  window.addEventListener('scroll', look, { passive: true })
  return () => {
    cancelAnimationFrame(frame)
    window.removeEventListener('scroll', look)
  }
}

/** Returns whether the page is scrolled down by more than `threshold` pixels. */
export function useScrolledPast(threshold: number) {
  return useSyncExternalStore(
    subscribe,
    () => top > threshold,
    () => false,
  )
}
