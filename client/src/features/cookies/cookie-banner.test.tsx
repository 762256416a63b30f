import { act, cleanup, fireEvent, screen } from '@testing-library/react'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { analytics } from '@/lib/privacy/analytics'
import { chooseConsent, reopenConsent } from '@/lib/privacy/consent'
import { renderFeature } from '@/testing/render'

import { CookieBanner } from './cookie-banner'

const banner = () => screen.queryByRole('region', { name: 'Cookie Policy' })

function openAndWait(ms = 500) {
  renderFeature(<CookieBanner />)
  act(() => void vi.advanceTimersByTime(ms))
}

const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }))

describe('the cookie banner', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => {
    act(() => chooseConsent('declined'))
    vi.useRealTimers()
  })

  it('appears half a second after the page', () => {
    openAndWait(499)
    expect(banner()).toBeNull()
    act(() => void vi.advanceTimersByTime(1))
    expect(banner()).toBeInTheDocument()
    expect(
      screen.getByText(
        'We use cookies to enhance your browsing experience and analyze site traffic.',
      ),
    ).toBeInTheDocument()
    const links = screen.getAllByRole('link').map((link) => link.getAttribute('href'))
    expect(links).toEqual(['/privacy', '/cookies'])
  })

  it.each([
    ['Accept', 'accepted'],
    ['Decline', 'declined'],
    ['Close and decline', 'declined'],
  ])('keeps the choice %s and goes away', (button, stored) => {
    openAndWait()
    press(button)
    expect(banner()).toBeNull()
    expect(localStorage.getItem('cookieConsent')).toBe(stored)
  })

  it.each(['accepted', 'declined'])('does not appear where %s is stored', (stored) => {
    localStorage.setItem('cookieConsent', stored)
    openAndWait()
    expect(banner()).toBeNull()
  })

  it('asks again after a year', () => {
    openAndWait()
    press('Accept')
    const day = 24 * 60 * 60 * 1000
    cleanup()
    vi.setSystemTime(Date.now() + 364 * day)
    openAndWait()
    expect(banner()).toBeNull()
    cleanup()
    vi.setSystemTime(Date.now() + 2 * day)
    openAndWait()
    expect(banner()).toBeInTheDocument()
  })

  it('keeps the choice in session storage where local storage fails', () => {
    openAndWait()
    const setItem = vi.spyOn(Storage.prototype, 'setItem')
    setItem.mockImplementation(function (this: Storage, key, value) {
      if (this === localStorage) throw new DOMException('refused', 'SecurityError')
      setItem.mockRestore()
      this.setItem(key, value)
    })
    press('Accept')
    expect(sessionStorage.getItem('cookieConsent')).toBe('accepted')
    expect(banner()).toBeNull()
  })

  it('comes back for another choice, takes the focus and gives it back', () => {
    localStorage.setItem('cookieConsent', 'accepted')
    openAndWait(0)
    const opener = document.body.appendChild(document.createElement('button'))
    opener.focus()
    act(reopenConsent)
    act(() => void vi.advanceTimersByTime(500))
    expect(banner()).toHaveFocus()
    press('Decline')
    expect(localStorage.getItem('cookieConsent')).toBe('declined')
    expect(opener).toHaveFocus()
    opener.remove()
  })

  it('starts measuring on consent alone, and stops when it is taken back', () => {
    const start = vi.spyOn(analytics, 'start')
    openAndWait()
    expect(start).not.toHaveBeenCalled()
    press('Accept')
    expect(start).toHaveBeenCalledOnce()
    document.cookie = 'terrace_visitor=1; path=/'
    act(reopenConsent)
    press('Decline')
    expect(document.cookie).not.toContain('terrace_visitor')
  })
})
