import { cn } from '@/lib/cn'

/** Shows Terrace's mark: three rising steps, the highest one lit. */
export function BrandMark({ className }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden className={cn('size-8', className)}>
      <rect width="32" height="32" rx="7" className="fill-pitch" />
      <rect x="5" y="20.5" width="13" height="5.5" rx="1.25" className="fill-chalk" />
      <rect x="9.5" y="13.25" width="13" height="5.5" rx="1.25" className="fill-chalk" />
      <rect x="14" y="6" width="13" height="5.5" rx="1.25" className="fill-floodlight" />
    </svg>
  )
}

interface BrandProps {
  className?: string
  /** For the name alone, such as hiding it where there is no room. */
  nameClassName?: string
}

/** Shows the mark with the name beside it. */
export function Brand({ className, nameClassName }: BrandProps) {
  return (
    <span className={cn('inline-flex items-center gap-2.5', className)}>
      <BrandMark />
      <span
        className={cn(
          'font-display text-[1.5rem] leading-none font-bold tracking-[-0.035em]',
          nameClassName,
        )}
      >
        Terrace
      </span>
    </span>
  )
}
