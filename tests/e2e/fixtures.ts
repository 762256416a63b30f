import { test as base } from '@playwright/test'

import { Server } from '../support/server.mjs'

/** Tests with a Basalt of their worker's own. */
export const test = base.extend<object, { server: Server }>({
  server: [
    // Playwright wants the first argument destructured, even where nothing is taken from it.
    // eslint-disable-next-line no-empty-pattern
    async ({}, use) => {
      const server = await Server.start()
      await use(server)
      await server.stop()
    },
    { scope: 'worker', timeout: 150_000 },
  ],
})

export { expect } from '@playwright/test'
