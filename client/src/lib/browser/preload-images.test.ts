import { expect, it, vi } from 'vitest'

import { preloadImages } from './preload-images'

it('says that pictures could not be had, once all were tried', async () => {
  const asked: string[] = []
  vi.stubGlobal(
    'Image',
    class {
      onload?: () => void
      onerror?: () => void
      set src(address: string) {
        asked.push(address)
        queueMicrotask(() => (address.includes('gone') ? this.onerror?.() : this.onload?.()))
      }
    },
  )
  await expect(preloadImages(['a.webp', 'gone.webp', 'b.webp'])).rejects.toThrow(
    'Failed to load one or more images',
  )
  expect(asked).toEqual(['a.webp', 'gone.webp', 'b.webp'])
  await expect(preloadImages(['a.webp'])).resolves.toBeUndefined()
})
