import { animate } from 'motion/mini'
import { useEffect, useRef, type ReactNode } from 'react'

import { usePrefersReducedMotion } from '@/lib/browser/use-media-query'

interface RevealProps {
  children: ReactNode
  /** Milliseconds to wait once it has come into view. */
  delayMs?: number
  className?: string
}

const EASE = [0.2, 0.7, 0.2, 1] as const

const RISE = { opacity: [0, 1], transform: ['translateY(28px)', 'none'] }

/** What counts as in view begins this far above the screen's lower edge. */
const MARGIN = '0px 0px -8% 0px'

/**
 * Lets its content rise into place when it is first scrolled into view. Still where motion is unwelcome,
 * and for what is on screen already.
 */
export function Reveal({ children, delayMs = 0, className }: RevealProps) {
  const ref = useRef<HTMLDivElement>(null)
  const isStill = usePrefersReducedMotion()

  useEffect(() => {
    const element = ref.current
    if (!element || isStill) return
    // The observer is told where the element is; asking for it here would have the browser lay out the page once more.
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1)
        if (!last) return
        if (!last.isIntersecting && last.boundingClientRect.top >= window.innerHeight) {
          element.style.opacity = '0'
          return
        }
        observer.disconnect()
        if (element.style.opacity !== '0') return
        element.style.opacity = ''
        const timing = { duration: 0.6, delay: delayMs / 1000, ease: EASE }
        animate(element, RISE, timing)
      },
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => {
      observer.disconnect()
      element.style.opacity = ''
    }
  }, [delayMs, isStill])

  return (
    <div ref={ref} className={className}>
      {children}
    </div>
  )
}
