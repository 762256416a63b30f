import '@testing-library/jest-dom/vitest'

import { cleanup, configure } from '@testing-library/react'
import { afterEach, beforeEach, vi } from 'vitest'

configure({ asyncUtilTimeout: 5_000 })

// The clock moves on by 20 ms whenever the event loop comes round, and by no more while a busy machine holds it up. So a
// toast or a time-out never passes before the test has come to look.
beforeEach(() => void vi.useFakeTimers({ shouldAdvanceTime: true }))

// jsdom lays nothing out and plays nothing; these are the parts of a browser that the site asks for.
beforeEach(() => {
  document.elementsFromPoint = () => []
  vi.stubGlobal('matchMedia', (query: string) => ({
    matches: query === '(width >= 768px)',
    addEventListener: () => undefined,
    removeEventListener: () => undefined,
  }))
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  )
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe() {}
      unobserve() {}
      disconnect() {}
    },
  )
  vi.stubGlobal(
    'WebSocket',
    class {
      close() {}
    },
  )
  vi.stubGlobal('scrollTo', vi.fn())
  Element.prototype.animate = vi.fn<Element['animate']>()
  vi.spyOn(HTMLMediaElement.prototype, 'play').mockResolvedValue()
  vi.spyOn(HTMLMediaElement.prototype, 'pause').mockReturnValue()
  vi.spyOn(HTMLMediaElement.prototype, 'load').mockReturnValue()
})

afterEach(() => {
  cleanup()
  vi.useRealTimers()
  localStorage.clear()
  sessionStorage.clear()
})
