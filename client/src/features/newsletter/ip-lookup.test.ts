import { expect, it, vi } from 'vitest'

import { lookUpIp } from './ip-lookup'

it('asks past every cache, and without credentials', async () => {
  const fetch = vi.fn(() => Promise.resolve(Response.json({ ip: '203.0.113.7' })))
  vi.stubGlobal('fetch', fetch)
  expect(await lookUpIp()).toBe('203.0.113.7')
  // Browsers send "Cache-Control: no-cache" with it (Fetch Standard, section 4.6).
  const options = expect.objectContaining({ cache: 'no-store', credentials: 'omit' }) as object
  expect(fetch).toHaveBeenCalledWith(expect.any(String), options)
})

it('gives up after three seconds', async () => {
  vi.useFakeTimers()
  vi.stubGlobal(
    'fetch',
    (_input: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(new DOMException('too late', 'AbortError')))
      }),
  )
  const address = vi.fn()
  void lookUpIp().then(address)
  await vi.advanceTimersByTimeAsync(2_999)
  expect(address).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  expect(address).toHaveBeenCalledWith(null)
})
