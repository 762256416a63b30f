import { act, fireEvent, render } from '@testing-library/react'
import { MemoryRouter, Route, Routes, useNavigate, type NavigateFunction } from 'react-router-dom'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'

import { HASH_SCROLL } from '@/lib/constants'

import { HashScroll } from './hash-scroll'

/** Tells the page that its height has changed. */
let resize: () => void

beforeEach(() => {
  resize = () => undefined
  class Observer {
    constructor(callback: () => void) {
      resize = callback
    }
    observe() {}
    disconnect() {
      resize = () => undefined
    }
  }
  vi.stubGlobal('ResizeObserver', Observer)
  const target = document.createElement('section')
  target.id = 'contact'
  document.body.append(target)
})

afterEach(() => document.getElementById('contact')?.remove())

async function visit(path: string) {
  render(
    <MemoryRouter initialEntries={[path]}>
      <HashScroll />
    </MemoryRouter>,
  )
  await vi.advanceTimersByTimeAsync(HASH_SCROLL.firstDelayMs)
}

it('stays at the named section while content arrives above it', async () => {
  await visit('/#contact')
  const scrollTo = vi.mocked(window.scrollTo)
  expect(scrollTo).toHaveBeenCalledTimes(1)
  resize()
  expect(scrollTo).toHaveBeenCalledTimes(2)
  await vi.advanceTimersByTimeAsync(HASH_SCROLL.contentLimitMs)
  resize()
  expect(scrollTo).toHaveBeenCalledTimes(2)
})

it('stops once the visitor scrolls', async () => {
  await visit('/#contact')
  window.dispatchEvent(new Event('wheel'))
  resize()
  expect(window.scrollTo).toHaveBeenCalledTimes(1)
})

it('leads back to where the visitor was on a page, and a new visit to the top', async () => {
  const routes = (
    <Routes>
      <Route path="/" element={<HashScroll key="home" />} />
      <Route path="/about" element={<HashScroll key="about" />} />
    </Routes>
  )
  let navigate: NavigateFunction = () => undefined
  const Navigator = () => {
    navigate = useNavigate()
    return null
  }
  render(
    <MemoryRouter initialEntries={['/']}>
      <Navigator />
      {routes}
    </MemoryRouter>,
  )
  const scrollTo = vi.mocked(window.scrollTo)
  const top = (y: number) => ({ top: y, behavior: 'instant' })
  vi.stubGlobal('scrollY', 1200)
  fireEvent.scroll(window)
  act(() => void navigate('/about'))
  expect(scrollTo).toHaveBeenLastCalledWith(top(0))
  act(() => void navigate(-1))
  expect(scrollTo).toHaveBeenLastCalledWith(top(1200))
  await vi.advanceTimersByTimeAsync(HASH_SCROLL.contentLimitMs)
  act(() => void navigate('/about'))
  expect(scrollTo).toHaveBeenLastCalledWith(top(0))
})
