import { useEffect, useRef } from 'react'
import { useLocation } from 'react-router-dom'

import { HASH_SCROLL } from '@/lib/constants'
import { scrollToElement, scrollToTop } from '@/lib/browser/scroll'

/** The id that the address names after its "#"; empty where it names none that could be read. */
function namedSection(hash: string) {
  try {
    return decodeURIComponent(hash.slice(1))
  } catch {
    return ''
  }
}

/**
 * Scrolls to the section that the address names, at once on the first visit and smoothly afterwards;
 * to the top where it names none. Mount it beside the sections, so that they exist when it runs.
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
    // The delay lets the first pictures and fonts settle, which move what lies below them.
    const timer = setTimeout(() => {
      isFirst.current = false
      if (id) scrollToElement(id, 'instant')
    }, HASH_SCROLL.firstDelayMs)
    if (!id) scrollToTop('instant')
    return () => clearTimeout(timer)
  }, [hash, key])

  return null
}
