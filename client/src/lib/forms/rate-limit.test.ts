import { describe, expect, it, vi } from 'vitest'

import { localLimiter, memoryLimiter, minutesLeft } from './rate-limit'

const LIMIT = { max: 2, windowMs: 60_000 }

describe.each([
  ['in memory', () => memoryLimiter(LIMIT)],
  ['in local storage', () => localLimiter('attempts', LIMIT)],
])('a limit %s', (_place, make) => {
  it('lets attempts through up to its number, then says how long to wait', () => {
    const limiter = make()
    expect(limiter.attempt(1_000)).toBe(0)
    expect(limiter.attempt(11_000)).toBe(0)
    expect(limiter.attempt(21_000)).toBe(40_000)
  })

  it('forgets attempts that lie outside its window, and never counts refused ones', () => {
    const limiter = make()
    limiter.attempt(1_000)
    limiter.attempt(2_000)
    limiter.attempt(3_000)
    expect(limiter.attempt(61_001)).toBe(0)
    expect(limiter.attempt(61_002)).toBeGreaterThan(0)
  })
})

describe('a limit in local storage', () => {
  it('outlives the page', () => {
    localLimiter('attempts', LIMIT).attempt(1_000)
    localLimiter('attempts', LIMIT).attempt(2_000)
    expect(localLimiter('attempts', LIMIT).attempt(3_000)).toBeGreaterThan(0)
  })

  it('starts over where the log is unreadable, and holds where storage is refused', () => {
    localStorage.setItem('attempts', '{oops')
    expect(localLimiter('attempts', LIMIT).attempt(1_000)).toBe(0)
    vi.spyOn(Storage.prototype, 'setItem').mockImplementation(() => {
      throw new DOMException('full', 'QuotaExceededError')
    })
    vi.spyOn(Storage.prototype, 'getItem').mockReturnValue(null)
    const limiter = localLimiter('other', LIMIT)
    limiter.attempt(1_000)
    limiter.attempt(2_000)
    expect(limiter.attempt(3_000)).toBeGreaterThan(0)
  })
})

it('tells waits in whole minutes', () => {
  expect([1, 60_000, 60_001, 600_000].map(minutesLeft)).toEqual([1, 1, 2, 10])
})
