import { useEffect, useRef } from 'react'
import { useLocation } from 'react-router-dom'

import { HASH_SCROLL } from '@/lib/constants'
import { scrollToElement, scrollToTop } from '@/lib/browser/scroll'

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
 * Scrolls to the element, and again whenever the page's height changes, since content that arrives above it would move it
 * away; until the visitor does something or a time limit is reached. Returns a function that ends it earlier.
 */
function keepInPlace(id: string) {
  const scroll = () => scrollToElement(id, 'instant')
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

/**
 * Scrolls to the section that the address names, or to the top: instantly on the first visit and smoothly afterwards.
 * It must be mounted beside the sections, so that they exist when it runs.
 */
export function HashScroll() {
  const { hash, key } = useLocation()
  const isFirst = useRef(true)

  useEffect(() => {
    const id = namedSection(hash)
    if (!isFirst.current) {
      if (id) scrollToElement(id, 'smooth')
      else scrollToTop('smooth')
      return
    }
    // The delay is for the first pictures and fonts, which move the content below them.
    let stay: (() => void) | undefined
    const timer = setTimeout(() => {
      isFirst.current = false
      if (id) stay = keepInPlace(id)
    }, HASH_SCROLL.firstDelayMs)
    if (!id) scrollToTop('instant')
    return () => {
      clearTimeout(timer)
      stay?.()
    }
  }, [hash, key])

  return null
}
