import { cn } from '@/lib/cn'

/** A quiet block in the place of something that is still loading; `className` gives its size. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={cn('animate-breathe rounded-md bg-ink/10', className)} />
}
