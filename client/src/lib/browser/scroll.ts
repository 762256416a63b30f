import { HASH_SCROLL } from '@/lib/constants'
import { layOutAll } from '@/lib/loading/later-layout'

function behavior(wanted: ScrollBehavior): ScrollBehavior {
  return window.matchMedia('(prefers-reduced-motion: reduce)').matches ? 'instant' : wanted
}

/**
 * Scrolls so that the element is below the fixed header, and moves the focus to it.
 * Returns false if the page has no element with this id.
 */
export function scrollToElement(id: string, wanted: ScrollBehavior) {
  const target = document.getElementById(id)
  if (!target) return false
  layOutAll()
  const top = target.getBoundingClientRect().top + window.scrollY - HASH_SCROLL.offset
  window.scrollTo({ top, behavior: behavior(wanted) })
  target.focus({ preventScroll: true })
  return true
}

/** Scrolls to a place at which the page was before. */
export function scrollToPosition(top: number) {
  layOutAll()
  window.scrollTo({ top, behavior: 'instant' })
}

export function scrollToTop(wanted: ScrollBehavior) {
  window.scrollTo({ top: 0, behavior: behavior(wanted) })
}
