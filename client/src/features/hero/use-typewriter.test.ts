import { act, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { useTypewriter } from './use-typewriter'

const PHRASES = ['Goal', 'Save']

/** How long the first phrase is held and deleted, in milliseconds; the second one begins after that. */
const UNTIL_SECOND = 3000 + 4 * 30 + 30

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

  it('has the first phrase at once, and types the next ones, a character every 50 ms', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    expect(result.current.typed).toBe('Goal')
    advance(UNTIL_SECOND)
    expect(result.current.typed).toBe('')
    advance(50)
    expect(result.current.typed).toBe('S')
    advance(150)
    expect(result.current.typed).toBe('Save')
  })

  it('holds the whole phrase for three seconds, then deletes one character every 30 ms', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    advance(2990)
    expect(result.current.typed).toBe('Goal')
    advance(10 + 30)
    expect(result.current.typed).toBe('Goa')
    advance(90)
    expect(result.current.typed).toBe('')
  })

  it('knows the rest of the phrase, so that its place can be kept', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    advance(UNTIL_SECOND + 50)
    expect(result.current).toEqual({ typed: 'S', rest: 'ave' })
  })

  it('goes on to the next phrase, and after the last one to the first', () => {
    const { result } = renderHook(() => useTypewriter(PHRASES))
    advance(UNTIL_SECOND + 200)
    expect(result.current.typed).toBe('Save')
    advance(UNTIL_SECOND + 200)
    expect(result.current.typed).toBe('Goal')
  })

  it('starts over with other phrases', () => {
    const { result, rerender } = renderHook(({ phrases }) => useTypewriter(phrases), {
      initialProps: { phrases: PHRASES },
    })
    advance(UNTIL_SECOND + 150)
    rerender({ phrases: ['Corner', 'Whistle'] })
    expect(result.current.typed).toBe('Corner')
  })

  it('leaves a phrase alone that is the only one', () => {
    const { result } = renderHook(() => useTypewriter(['Goal']))
    advance(5000)
    expect(result.current.typed).toBe('Goal')
  })

  it('stands still while paused', () => {
    const { result, rerender } = renderHook(({ paused }) => useTypewriter(PHRASES, paused), {
      initialProps: { paused: false },
    })
    advance(UNTIL_SECOND + 100)
    rerender({ paused: true })
    advance(5000)
    expect(result.current.typed).toBe('Sa')
  })
})
