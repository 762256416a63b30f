import { cn } from '@/lib/cn'

interface SpinnerProps {
  label: string
  className?: string
}

/** Shows an animation while something is loading, with `label` for screen readers. */
export function Spinner({ label, className = 'min-h-80' }: SpinnerProps) {
  return (
    <div role="status" className={cn('grid place-items-center', className)}>
      <span
        aria-hidden
        className="size-10 animate-spin rounded-full border-4 border-ink/15 border-t-pitch"
      />
      <span className="sr-only">{label}</span>
    </div>
  )
}
