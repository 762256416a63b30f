import { ImageWithFallback } from '@/components/ui/image-with-fallback'
import { cn } from '@/lib/cn'
import { initials } from '@/lib/initials'
import { storedSquare } from '@/lib/supabase/storage-url'

interface PortraitProps {
  name: string
  /** The value of the table; a bare file name is a file of the bucket of experts. */
  imagePath: string | null
  /** The side of its square on the page, in CSS pixels at most. */
  size: number
  className?: string
}

/** Shows a person's picture in a square, or their initials. Decorative: the name is beside it. */
export function Portrait({ name, imagePath, size, className }: PortraitProps) {
  if (!imagePath) {
    return (
      <span
        aria-hidden
        className={cn(
          'grid aspect-square w-full place-items-center rounded-md bg-mist font-display text-heading font-bold text-pitch',
          className,
        )}
      >
        {initials(name)}
      </span>
    )
  }
  return (
    <ImageWithFallback
      {...storedSquare(imagePath, 'experts', size)}
      alt=""
      width={size}
      height={size}
      className={cn('aspect-square w-full rounded-md bg-mist', className)}
    />
  )
}
