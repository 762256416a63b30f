import { useEffect, useRef, type ReactNode } from 'react'

import { usePrefersReducedMotion } from '@/lib/browser/use-media-query'

interface RevealProps {
  children: ReactNode
  /** Milliseconds to wait once it has come into view. */
  delayMs?: number
  className?: string
}

/** The curve is `--ease-out` of the theme; an animation of a script cannot name it. */
const TIMING = {
  duration: 600,
  easing: 'cubic-bezier(0.2, 0.7, 0.2, 1)',
  fill: 'backwards',
} as const

const RISE = { opacity: [0, 1], transform: ['translateY(28px)', 'none'] }

/** The distance from the screen's lower edge at which an element counts as in view. */
const MARGIN = '0px 0px -8% 0px'

/**
 * Animates its content when it is first scrolled into view. There is no animation if the visitor prefers reduced motion
 * or if the content is on the screen already.
 */
export function Reveal({ children, delayMs = 0, className }: RevealProps) {
  const ref = useRef<HTMLDivElement>(null)
  const isStill = usePrefersReducedMotion()

  useEffect(() => {
    const element = ref.current
    if (!element || isStill) return
    // The observer provides the element's position; reading it here would force another layout.
    const observer = new IntersectionObserver(
      (entries) => {
        const last = entries.at(-1)
        if (!last) return
        const { top, left, width } = last.boundingClientRect
        // What has no width is not laid out yet, and so below the screen. What is beside the screen is swiped to, and must
        // not be waited for then.
        const isBelow = width === 0 || (top >= window.innerHeight && left < window.innerWidth)
        if (!last.isIntersecting && isBelow) {
          element.style.opacity = '0'
          return
        }
        observer.disconnect()
        if (element.style.opacity !== '0') return
        element.style.opacity = ''
        element.animate(RISE, { ...TIMING, delay: delayMs })
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
