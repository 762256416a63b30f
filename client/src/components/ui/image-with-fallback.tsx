import { useState, type ComponentProps } from 'react'

import { cn } from '@/lib/cn'

export const PLACEHOLDER_IMAGE = '/placeholder.svg'

type ImageProps = Omit<ComponentProps<'img'>, 'onError' | 'alt'> & { alt: string }

/**
 * A picture that is replaced by a placeholder if it cannot be loaded. `width` and `height` reserve its space, so that
 * nothing moves when it is loaded.
 */
export function ImageWithFallback({ src, alt, className, ...props }: ImageProps) {
  const [failedSrc, setFailedSrc] = useState<string>()
  return (
    <img
      src={src === failedSrc ? PLACEHOLDER_IMAGE : src}
      alt={alt}
      loading="lazy"
      decoding="async"
      className={cn('object-cover', className)}
      onError={() => setFailedSrc(src)}
      {...props}
    />
  )
}
