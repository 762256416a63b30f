import { act, fireEvent, renderHook } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { usePopup } from './use-popup'

const open = (isChatOpen = false) =>
  renderHook(({ chat }) => usePopup(chat), { initialProps: { chat: isChatOpen } })

function wait(ms: number) {
  act(() => void vi.advanceTimersByTime(ms))
}

function leave(clientY: number) {
  act(() => void fireEvent.mouseLeave(document, { clientY }))
}

describe('the newsletter popup', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  it('opens after twenty seconds', () => {
    const { result } = open()
    wait(19_999)
    expect(result.current.isOpen).toBe(false)
    wait(1)
    expect(result.current.isOpen).toBe(true)
    expect(localStorage.getItem('newsletter_popup_interacted')).toBe('true')
  })

  it('opens when the mouse leaves by the top edge', () => {
    const { result } = open()
    leave(6)
    expect(result.current.isOpen).toBe(false)
    leave(5)
    expect(result.current.isOpen).toBe(true)
  })

  it('opens once thirty per cent of the page are scrolled past', () => {
    vi.spyOn(document.documentElement, 'scrollHeight', 'get').mockReturnValue(1000)
    const { result } = open()
    const scroll = (y: number) => {
      vi.stubGlobal('scrollY', y)
      act(() => void fireEvent.scroll(window))
    }
    scroll(300)
    expect(result.current.isOpen).toBe(false)
    scroll(301)
    expect(result.current.isOpen).toBe(true)
  })

  it.each(['newsletter_popup_interacted', 'newsletter_popup_disabled'])(
    'never opens again once %s is set',
    (key) => {
      localStorage.setItem(key, 'true')
      const { result } = open()
      wait(60_000)
      leave(0)
      expect(result.current.isOpen).toBe(false)
    },
  )

  it('is disabled by closing it', () => {
    const { result } = open()
    wait(20_000)
    act(() => result.current.close())
    expect(result.current.isOpen).toBe(false)
    expect(localStorage.getItem('newsletter_popup_disabled')).toBe('true')
  })

  it('does not open while the chat is open, and may afterwards', () => {
    const { result, rerender } = open(true)
    wait(20_000)
    leave(0)
    expect(result.current.isOpen).toBe(false)
    rerender({ chat: false })
    leave(0)
    expect(result.current.isOpen).toBe(true)
  })

  it('closes when the chat is opened', () => {
    const { result, rerender } = open()
    wait(20_000)
    rerender({ chat: true })
    expect(result.current.isOpen).toBe(false)
    expect(localStorage.getItem('newsletter_popup_disabled')).toBe('true')
  })
})
