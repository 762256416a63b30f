import { inView } from 'motion'
import { animate } from 'motion/mini'
import { useEffect, useRef, type ReactNode } from 'react'

import { usePrefersReducedMotion } from '@/lib/use-media-query'

interface RevealProps {
  children: ReactNode
  /** Milliseconds to wait once it has come into view. */
  delayMs?: number
  className?: string
}

const RISE = { opacity: [0, 1], transform: ['translateY(28px)', 'none'] }

/**
 * Lets its content rise into place when it is first scrolled into view. Still where motion is unwelcome,
 * and for what is on screen already.
 */
export function Reveal({ children, delayMs = 0, className }: RevealProps) {
  const ref = useRef<HTMLDivElement>(null)
  const isStill = usePrefersReducedMotion()

  useEffect(() => {
    const element = ref.current
    if (!element || isStill || element.getBoundingClientRect().top < window.innerHeight) return
    element.style.opacity = '0'
    const stop = inView(
      element,
      () => {
        element.style.opacity = ''
        animate(element, RISE, {
          duration: 0.6,
          delay: delayMs / 1000,
          ease: [0.2, 0.7, 0.2, 1],
        })
      },
      { margin: '0px 0px -8% 0px' },
    )
    return () => {
      stop()
      element.style.opacity = ''
    }
  }, [delayMs, isStill])

  return (
    <div ref={ref} className={className}>
      {children}
    </div>
  )
}
