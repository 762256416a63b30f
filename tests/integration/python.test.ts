import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

const run = promisify(execFile)
const folder = path.resolve(import.meta.dirname, '../python')

test("Supabase's Python client works", { timeout: 120_000 }, async () => {
  const { url, anonKey, serviceKey } = inject('access')
  const flags = ['-W', 'ignore', '-m', 'unittest', '--verbose']
  const ran = await run(path.join(folder, '.venv/bin/python'), flags, {
    cwd: folder,
    env: {
      ...process.env,
      SUPABASE_URL: url,
      SUPABASE_ANON_KEY: anonKey,
      SUPABASE_SERVICE_ROLE_KEY: serviceKey,
    },
  })
  // The list of tests, and of failed ones, is in the standard error output.
  expect(ran.stderr).toMatch(/^OK$/m)
})
