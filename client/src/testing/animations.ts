import { vi } from 'vitest'

/** Returns the delays of the animations that were started since the test began, in milliseconds. */
export function animationDelays() {
  const { calls } = vi.mocked(Element.prototype.animate).mock
  return calls.map(([, timing]) => (typeof timing === 'object' ? timing.delay : 0))
}
