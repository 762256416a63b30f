import { existsSync } from 'node:fs'

/**
 * The browser for tests: CHROMIUM, or one that is on the machine; otherwise undefined, which stands for Playwright's own.
 * The first one is Chromium without windows, which takes a third less processor time than Chromium with hidden ones.
 */
export const executablePath = [
  process.env.CHROMIUM,
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].find((path) => path !== undefined && existsSync(path))
