import { act, renderHook } from '@testing-library/react'
import { expect, it, vi } from 'vitest'

import { useVideoPlayback } from './use-video-playback'

it('looks for its element thirty times, a tenth of a second apart', async () => {
  vi.useFakeTimers()
  const onFailure = vi.fn()
  const options = { source: '/demo.webm', isPaused: false, onFailure }
  const { result } = renderHook(() => useVideoPlayback(options))
  await act(() => vi.advanceTimersByTimeAsync(2_999))
  expect(result.current.status).toBe('not-loaded')
  await act(() => vi.advanceTimersByTimeAsync(1))
  expect(result.current.status).toBe('load-failed')
  expect(onFailure).toHaveBeenCalledOnce()
})

it('plays once the element is there', async () => {
  vi.useFakeTimers()
  const options = { source: '/demo.webm', isPaused: false, onFailure: vi.fn() }
  const { result } = renderHook(() => useVideoPlayback(options))
  await act(() => vi.advanceTimersByTimeAsync(1_500))
  const video = document.createElement('video')
  result.current.videoRef.current = video
  await act(() => vi.advanceTimersByTimeAsync(100))
  expect(video.play).toHaveBeenCalledOnce()
})
