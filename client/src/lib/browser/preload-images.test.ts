import { expect, it, vi } from 'vitest'

import { preloadImages } from './preload-images'

it('loads what the page will show, and the file itself where nothing is rendered', async () => {
  const requests: string[] = []
  vi.stubGlobal(
    'Image',
    class {
      srcset?: string
      onload?: () => void
      onerror?: () => void
      set src(address: string) {
        requests.push(this.srcset ?? address)
        queueMicrotask(() => (this.srcset?.includes('gone') ? this.onerror?.() : this.onload?.()))
      }
    },
  )
  await preloadImages([
    { src: 'a.webp', srcSet: 'a?width=1 1x' },
    { src: 'b.webp', srcSet: 'gone?width=1 1x' },
  ])
  expect(requests).toEqual(['a?width=1 1x', 'gone?width=1 1x', 'b.webp'])
})

it('says that pictures could not be had, once all were tried', async () => {
  const requests: string[] = []
  vi.stubGlobal(
    'Image',
    class {
      onload?: () => void
      onerror?: () => void
      set src(address: string) {
        requests.push(address)
        queueMicrotask(() => (address.includes('gone') ? this.onerror?.() : this.onload?.()))
      }
    },
  )
  const pictures = ['a.webp', 'gone.webp', 'b.webp'].map((src) => ({ src }))
  await expect(preloadImages(pictures)).rejects.toThrow('Failed to load one or more images')
  expect(requests).toEqual(['a.webp', 'gone.webp', 'b.webp'])
  await expect(preloadImages([{ src: 'a.webp' }])).resolves.toBeUndefined()
})
