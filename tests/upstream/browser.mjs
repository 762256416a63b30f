/**
 * Runs the site's browser tests on upstream's own services (as-basalt.mjs), but for those that need what is absent there
 * (left-out.mjs), and names these. Arguments go to Playwright. Ends with its status.
 */
import { spawnSync } from 'node:child_process'
import path from 'node:path'

import { leftOut, pattern } from './left-out.mjs'

const repository = path.resolve(import.meta.dirname, '../..')
const settings = ['--config', 'tests/e2e/playwright.config.ts', '--grep-invert', pattern]
const { status } = spawnSync('npx', ['playwright', 'test', ...settings, ...process.argv.slice(2)], {
  cwd: repository,
  env: { ...process.env, BASALT_BINARY: path.join(import.meta.dirname, 'as-basalt.mjs') },
  stdio: 'inherit',
})
for (const one of leftOut) console.log(`left out   ${one}`)
process.exitCode = status ?? 1
