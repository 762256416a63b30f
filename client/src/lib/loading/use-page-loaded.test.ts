import { act, renderHook } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { usePageLoaded } from './use-page-loaded'

it('waits for the files of the page', () => {
  const state = vi.spyOn(document, 'readyState', 'get').mockReturnValue('interactive')
  const { result } = renderHook(usePageLoaded)
  expect(result.current).toBe(false)
  state.mockReturnValue('complete')
  act(() => void window.dispatchEvent(new Event('load')))
  expect(result.current).toBe(true)
})

it('waits for them ten seconds at most', async () => {
  vi.spyOn(document, 'readyState', 'get').mockReturnValue('interactive')
  const { result } = renderHook(usePageLoaded)
  await act(() => vi.advanceTimersByTimeAsync(9_000))
  expect(result.current).toBe(false)
  await act(() => vi.advanceTimersByTimeAsync(1_000))
  expect(result.current).toBe(true)
})
