import { cn } from '@/lib/cn'

/** Shows a placeholder for something that is still loading; `className` sets its size. */
export function Skeleton({ className }: { className?: string }) {
  return <div aria-hidden className={cn('animate-breathe rounded-md bg-ink/10', className)} />
}
