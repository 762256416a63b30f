/**
 * What a project elsewhere may be without. Whoever runs the tests against one names it; the server is never asked, or a
 * feature that broke would only be skipped.
 */
import { inject } from 'vitest'

type Feature = 'oauth-server' | 'saml'

/** Whether `CONFORMANCE_WITHOUT`, a list with commas, says that the server under test has no `feature`. */
export function lacks(feature: Feature): boolean {
  const without = (process.env.CONFORMANCE_WITHOUT ?? '').split(',')
  return inject('own') === null && without.includes(feature)
}
