/**
 * Features that a project elsewhere may lack. Whoever runs the tests against one names them; the server is never asked,
 * since otherwise tests of a broken feature would only be skipped.
 */
import { inject } from 'vitest'

type Feature = 'object-versions' | 'saml'

/** Reports whether the server under test lacks `feature`, according to the comma-separated list `CONFORMANCE_WITHOUT`. */
export function lacks(feature: Feature): boolean {
  const without = (process.env.CONFORMANCE_WITHOUT ?? '').split(',')
  return inject('own') === null && without.includes(feature)
}
