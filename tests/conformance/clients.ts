import { inject } from 'vitest'

import { connect, type Client } from '../support/client.ts'

/** The stock client of somebody who is not signed in. */
export function visitor(): Client {
  const { url, anonKey } = inject('access')
  return connect(url, anonKey)
}

/** The stock client of a trusted server. */
export function service(): Client {
  const { url, serviceKey } = inject('access')
  return connect(url, serviceKey)
}
