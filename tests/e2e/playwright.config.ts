import { defineConfig, devices } from '@playwright/test'

import { executablePath } from '../support/browser.mjs'

export default defineConfig({
  testDir: '.',
  outputDir: '../results/e2e',
  // Each has a server of its own; the files of tests do not depend on one another.
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  forbidOnly: process.env.CI !== undefined,
  // A browser on a busy machine is now and then slower than what a test allows for. The report names what needed it.
  retries: process.env.CI === undefined ? 0 : 1,
  reporter: 'list',
  use: {
    ...devices['Desktop Chrome'],
    contextOptions: { reducedMotion: 'reduce' },
    trace: 'retain-on-failure',
    launchOptions: {
      ...(executablePath === undefined ? {} : { executablePath }),
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--no-first-run',
      ],
    },
  },
})
