import { useState } from 'react'

/** The attributes that say which picture an `img` shows. */
interface PictureSource {
  src?: string | undefined
  srcSet?: string | undefined
  sizes?: string | undefined
}

/**
 * Returns the attributes of an `img` for a picture that may come rendered (`srcSet`). If that fails, as on a backend that
 * renders none, it is the file itself (`src`); `isFailed` says that this cannot be had, either.
 */
export function usePicture({ src, srcSet, sizes }: PictureSource) {
  const [failed, setFailed] = useState<{ src: string | undefined; isWhole: boolean }>()
  const hasFailed = failed !== undefined && failed.src === src
  const isWhole = srcSet === undefined || hasFailed
  return {
    attributes: isWhole ? { src } : { sizes, srcSet, src },
    isFailed: hasFailed && failed.isWhole,
    onError: () => setFailed({ src, isWhole }),
  }
}
