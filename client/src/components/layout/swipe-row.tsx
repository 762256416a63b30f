import type { ReactNode } from 'react'

import { cn } from '@/lib/cn'
import { useIsPhone } from '@/lib/browser/use-media-query'

interface SwipeRowProps {
  label: string
  /** The layout on wider screens, such as a grid. */
  className: string
  /** Whether the order says something. */
  isOrdered?: boolean
  children: ReactNode
}

/**
 * Shows a list, on phones as one row that is swiped, so that many cards take the height of one. All of it is in the
 * document, and with the keyboard's focus on the row the arrow keys scroll it.
 */
export function SwipeRow({ label, className, isOrdered, children }: SwipeRowProps) {
  const isPhone = useIsPhone()
  const List = isOrdered ? 'ol' : 'ul'
  return (
    <List
      aria-label={label}
      tabIndex={isPhone ? 0 : undefined}
      className={cn('focus-inset max-md:swipe-row', className)}
    >
      {children}
    </List>
  )
}
