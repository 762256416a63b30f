import { useEffect } from 'react'

import { messages } from '@/lib/notices/messages'

/** The attributes of the `img` that will show a picture, which say what is loaded for it. */
interface ImageAttributes {
  src: string
  srcSet?: string
}

function loadImage({ src, srcSet }: ImageAttributes) {
  return new Promise<void>((resolve, reject) => {
    const image = new Image()
    image.onload = () => resolve()
    image.onerror = () => reject(new Error(src))
    // First: otherwise the browser would begin to load the other one, too.
    if (srcSet !== undefined) image.srcset = srcSet
    image.src = src
  })
}

/** Loads a picture as it will be shown, or the file itself where none is rendered. */
async function loadPicture(picture: ImageAttributes) {
  if (picture.srcSet === undefined) return loadImage(picture)
  return loadImage(picture).catch(() => loadImage({ src: picture.src }))
}

/** Loads pictures before they are shown. Rejects once all have been tried, if any could not be had. */
export async function preloadImages(pictures: readonly ImageAttributes[]) {
  const results = await Promise.allSettled(pictures.map(loadPicture))
  if (results.some(({ status }) => status === 'rejected'))
    throw new Error(messages.images.preloadFailed)
}

/** Preloads pictures; failures are only logged. */
export function usePreloadedImages(pictures: readonly ImageAttributes[]) {
  const key = JSON.stringify(pictures)
  useEffect(() => {
    const pictures = JSON.parse(key) as ImageAttributes[]
    if (pictures.length === 0) return
    preloadImages(pictures).catch((error: unknown) => console.error(error))
  }, [key])
}
