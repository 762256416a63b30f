import { expect, it, vi } from 'vitest'

import { csrfToken, regenerateCsrfToken } from './csrf-token'

it('is 32 random bytes in hexadecimal, kept for the tab', () => {
  const token = csrfToken()
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  expect(csrfToken()).toBe(token)
  expect(sessionStorage.getItem('csrf_token')).toBe(token)
})

it('is another one once it was used', () => {
  const token = csrfToken()
  const next = regenerateCsrfToken()
  expect(next).not.toBe(token)
  expect(csrfToken()).toBe(next)
})

it('replaces what is no token, and lives without storage', () => {
  sessionStorage.setItem('csrf_token', 'forged')
  expect(csrfToken()).toMatch(/^[0-9a-f]{64}$/)
  vi.spyOn(Storage.prototype, 'getItem').mockReturnValue(null)
  expect(csrfToken()).toBe(csrfToken())
})
