import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { useTypewriter } from './use-typewriter'

const PHRASES = ['Goal', 'Save']

function advance(ms: number) {
  // Each step sets the timer of the next one only once React has rendered it.
  for (let passed = 0; passed < ms; passed += 10) {
    act(() => {
      vi.advanceTimersByTime(10)
    })
  }
}

describe('useTypewriter', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  it('types one character every 50 ms', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    expect(result.current.typed).toBe('')
    advance(50)
    expect(result.current.typed).toBe('G')
    advance(150)
    expect(result.current.typed).toBe('Goal')
  })

  it('holds the whole phrase for three seconds, then deletes one character every 30 ms', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    advance(200 + 2990)
    expect(result.current.typed).toBe('Goal')
    advance(10 + 30)
    expect(result.current.typed).toBe('Goa')
    advance(90)
    expect(result.current.typed).toBe('')
  })

  it('knows the rest of the phrase, so that its place can be kept', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    advance(50)
    expect(result.current).toEqual({ typed: 'G', rest: 'oal' })
  })

  it('goes on to the next phrase, and after the last one to the first', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    const onePhrase = 4 * 50 + 3000 + 4 * 30 + 30
    advance(onePhrase + 200)
    expect(result.current.typed).toBe('Save')
    advance(onePhrase)
    expect(result.current.typed).toBe('Goal')
  })

  it('starts over with other phrases', () => {
    const { result, rerender } = renderHook(({ phrases }) => useTypewriter(phrases), {
      initialProps: { phrases: PHRASES },
    })
    advance(150)
    rerender({ phrases: ['Corner'] })
    expect(result.current.typed).toBe('')
    advance(50)
    expect(result.current.typed).toBe('C')
  })

  it('stands still while paused', () => {
    const { result, rerender } = renderHook(({ paused }) => useTypewriter(PHRASES, paused), {
      initialProps: { paused: false },
    })
    advance(100)
    rerender({ paused: true })
    advance(5000)
    expect(result.current.typed).toBe('Go')
  })
})
