import { useRef, type ReactNode } from 'react'

import { useIsOnScreen } from '@/lib/browser/use-is-on-screen'
import { cn } from '@/lib/cn'

interface VignetteProps {
  title: string
  /** Says in words what the picture shows. */
  text: string
  className?: string
  children: ReactNode
}

/** Shows a picture of the product above its caption. Its animations pause while it is off the screen. */
export function Vignette({ title, text, className, children }: VignetteProps) {
  const ref = useRef<HTMLElement>(null)
  const isOnScreen = useIsOnScreen(ref)
  return (
    <figure
      ref={ref}
      data-paused={!isOnScreen}
      className={cn(
        'vignette relative flex flex-col overflow-hidden rounded-lg transition-colors duration-300',
        className,
      )}
    >
      <div className="flex grow flex-col">{children}</div>
      <figcaption className="px-5 pb-5 sm:px-6 sm:pb-6">
        <span className="block font-display text-subheading font-semibold">{title}</span>
        <span className="mt-1 block text-small">{text}</span>
      </figcaption>
    </figure>
  )
}
