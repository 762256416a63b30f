import { test as base } from '@playwright/test'

import { everyWayIn } from '../support/auth.mjs'
import { ClubPage } from '../support/club-page.ts'
import { Provider } from '../support/provider.ts'
import { Server } from '../support/server.mjs'

interface Worker {
  /** A Basalt with every way to sign in. */
  server: Server
  /** The OpenID provider that it knows. */
  provider: Provider
  /** A page of another origin with the stock client of that Basalt. */
  club: ClubPage
}

// Playwright requires the first argument to be destructured, even if nothing of it is used.
/* eslint-disable no-empty-pattern */

/** Tests with a Basalt of their worker's own. */
export const test = base.extend<object, Worker>({
  provider: [
    async ({}, use) => {
      const provider = await Provider.start()
      await use(provider)
      await provider.stop()
    },
    { scope: 'worker' },
  ],
  club: [
    async ({}, use) => {
      const club = await ClubPage.start()
      await use(club)
      await club.stop()
    },
    { scope: 'worker' },
  ],
  server: [
    async ({ provider, club }, use) => {
      // The debug build renders slowly.
      const env = { ...everyWayIn(provider.url, club.origin), IMGPROXY_REQUEST_TIMEOUT: '60' }
      const server = await Server.start({ env })
      club.access = server.access
      await use(server)
      await server.stop()
    },
    { scope: 'worker', timeout: 150_000 },
  ],
})

export { expect } from '@playwright/test'
