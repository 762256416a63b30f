import { expect, it, vi } from 'vitest'

import { lookUpIp } from './ip-lookup'

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
