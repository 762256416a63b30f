import { act } from '@testing-library/react'
import { vi } from 'vitest'

type Entry = Pick<IntersectionObserverEntry, 'isIntersecting' | 'boundingClientRect'>
type Callback = (entries: Entry[]) => void

/**
 * Stands in for the browser's IntersectionObserver. What is observed lies below the screen until `scrollTo` or
 * `scrollToAll`, unless it `isOnScreen` from the start. `left` is the distance of its left edge from the screen's.
 */
export function stubIntersection(isOnScreen = false, left = 0) {
  const watched = new Map<Element, Callback>()
  const entry = (isIntersecting: boolean): Entry => ({
    isIntersecting,
    boundingClientRect: new DOMRect(left, isIntersecting ? 0 : window.innerHeight, 1, 1),
  })

  class Observer {
    readonly #elements = new Set<Element>()
    readonly #callback: Callback
    constructor(callback: Callback) {
      this.#callback = callback
    }
    observe(element: Element) {
      this.#elements.add(element)
      watched.set(element, this.#callback)
      this.#callback([entry(isOnScreen)])
    }
    disconnect() {
      for (const element of this.#elements) watched.delete(element)
    }
  }
  vi.stubGlobal('IntersectionObserver', Observer)

  const tell = (element: Element, isIntersecting: boolean) =>
    act(() => watched.get(element)?.([entry(isIntersecting)]))
  return {
    scrollTo: (element: Element) => tell(element, true),
    scrollAwayFrom: (element: Element) => tell(element, false),
    scrollToAll: () => {
      for (const element of [...watched.keys()]) tell(element, true)
    },
    isWatched: (element: Element) => watched.has(element),
  }
}
