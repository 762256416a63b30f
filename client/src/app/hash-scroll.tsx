import { useEffectEvent, useLayoutEffect, useRef } from 'react'
import { NavigationType, useLocation, useNavigationType } from 'react-router-dom'

import { HASH_SCROLL } from '@/lib/constants'
import { scrollToElement, scrollToPosition, scrollToTop } from '@/lib/browser/scroll'
import { scrollPosition, watchScroll } from '@/lib/browser/scroll-memory'

/** Returns the id after the "#" of the address; empty if there is none or it is malformed. */
function namedSection(hash: string) {
  try {
    return decodeURIComponent(hash.slice(1))
  } catch {
    return ''
  }
}

/** The events of a visitor who wants to go elsewhere. */
const INPUTS = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const

/**
 * Calls `scroll`, and again whenever the page's height changes, since content that arrives above would move the place
 * away; until the visitor does something or a time limit is reached. Returns a function that ends it earlier.
 */
function keepInPlace(scroll: () => void) {
  scroll()
  const observer = new ResizeObserver(scroll)
  const end = () => {
    clearTimeout(timer)
    observer.disconnect()
    for (const input of INPUTS) window.removeEventListener(input, end)
  }
  const timer = setTimeout(end, HASH_SCROLL.contentLimitMs)
  for (const input of INPUTS) window.addEventListener(input, end, { passive: true })
  observer.observe(document.body)
  return end
}

/** Whether no page has been shown since the document was loaded. */
let isFirstPage = true

/** Returns where to scroll to in an entry of the history to which the visitor has come back. */
function usePlaceInHistory() {
  const { key, pathname } = useLocation()
  const isPop = useNavigationType() === NavigationType.Pop
  const entry = `${key} ${pathname}`
  useLayoutEffect(() => watchScroll(entry), [entry])
  return () => (isPop ? scrollPosition(entry, isFirstPage) : undefined)
}

/**
 * Scrolls to the section that the address names, or to the top: instantly on the first visit and smoothly afterwards.
 * Whoever comes back to the page, or reloads it, is where they were. It must be mounted beside the sections, so that they
 * exist when it runs.
 */
export function HashScroll() {
  const { hash, key } = useLocation()
  const placeInHistory = useEffectEvent(usePlaceInHistory())
  const isFirst = useRef(true)

  useLayoutEffect(() => {
    const place = placeInHistory()
    const id = namedSection(hash)
    const isTakingOver = isFirstPage
    isFirstPage = false
    // The page replaces the first screen, which the visitor may have scrolled meanwhile: it stays as it is.
    if (isTakingOver && !id && (place === undefined || window.scrollY > 0)) {
      isFirst.current = false
      return
    }
    if (place !== undefined && !(isTakingOver && id)) {
      isFirst.current = false
      return keepInPlace(() => scrollToPosition(place))
    }
    if (!isFirst.current) {
      if (id) scrollToElement(id, 'smooth')
      else scrollToTop('smooth')
      return
    }
    // The delay is for the first pictures and fonts, which move the content below them.
    let stay: (() => void) | undefined
    const timer = setTimeout(() => {
      isFirst.current = false
      if (id) stay = keepInPlace(() => scrollToElement(id, 'instant'))
    }, HASH_SCROLL.firstDelayMs)
    if (!id) scrollToTop('instant')
    return () => {
      clearTimeout(timer)
      stay?.()
    }
  }, [hash, key])

  return null
}
