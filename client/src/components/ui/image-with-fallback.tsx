import type { ComponentProps } from 'react'

import { usePicture } from '@/lib/browser/use-picture'
import { cn } from '@/lib/cn'

export const PLACEHOLDER_IMAGE = '/placeholder.svg'

type ImageProps = Omit<ComponentProps<'img'>, 'onError' | 'alt'> & { alt: string }

/**
 * Shows a picture that is replaced by the one in `src` if none of `srcSet` can be loaded, and by a placeholder if
 * that cannot, either. `width` and `height` reserve its space, so that nothing moves when it is loaded.
 */
export function ImageWithFallback({ src, srcSet, sizes, alt, className, ...props }: ImageProps) {
  const { attributes, isFailed, onError } = usePicture({ src, srcSet, sizes })
  return (
    <img
      alt={alt}
      loading="lazy"
      decoding="async"
      className={cn('object-cover', className)}
      onError={onError}
      {...props}
      // After `loading`: a browser may begin to load a picture as soon as it knows its address.
      {...(isFailed ? { src: PLACEHOLDER_IMAGE } : attributes)}
    />
  )
}
