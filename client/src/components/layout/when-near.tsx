import { useEffect, useRef, useState, type ReactNode } from 'react'

interface WhenNearProps {
  children: ReactNode
  /** Reserves the room that the children will take. */
  className?: string
}

/** How far below the screen is near enough. */
const MARGIN = '800px'

/** Renders its children once they are about to be scrolled into view, so that their code comes no earlier. */
export function WhenNear({ children, className }: WhenNearProps) {
  const ref = useRef<HTMLDivElement>(null)
  const [isNear, setIsNear] = useState(false)

  useEffect(() => {
    const element = ref.current
    if (!element || isNear) return
    const observer = new IntersectionObserver(
      (entries) => entries.some(({ isIntersecting }) => isIntersecting) && setIsNear(true),
      { rootMargin: MARGIN },
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [isNear])

  return (
    <div ref={ref} className={className}>
      {isNear && children}
    </div>
  )
}
