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
    const timer = setTimeout(() => {
      isFirst.current = false
      if (id) scrollToElement(id, 'instant')
    }, HASH_SCROLL.firstDelayMs)
    if (!id) scrollToTop('instant')
    return () => clearTimeout(timer)
  }, [hash, key])

  return null
}
