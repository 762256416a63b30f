import { useEffect } from 'react'

import { messages } from '@/lib/notices/messages'

function loadImage(address: string) {
  return new Promise<void>((resolve, reject) => {
    const image = new Image()
    image.onload = () => resolve()
    image.onerror = () => reject(new Error(address))
    image.src = address
  })
}

/** Loads pictures before they are shown. Rejects once all have been tried, if any could not be had. */
export async function preloadImages(addresses: readonly string[]) {
  const results = await Promise.allSettled(addresses.map(loadImage))
  if (results.some(({ status }) => status === 'rejected'))
    throw new Error(messages.images.preloadFailed)
}

/** Preloads pictures; failures are only logged. */
export function usePreloadedImages(addresses: readonly string[]) {
  const key = addresses.join('\n')
  useEffect(() => {
    if (key === '') return
    preloadImages(key.split('\n')).catch((error: unknown) => console.error(error))
  }, [key])
}
