import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'

import { expect, inject, test } from 'vitest'

const run = promisify(execFile)
const folder = path.resolve(import.meta.dirname, '../python')

test("Supabase's and Amazon's Python clients work", { timeout: 120_000 }, async () => {
  const { url, anonKey, serviceKey } = inject('access')
  const s3 = inject('s3')
  const flags = ['-W', 'ignore', '-m', 'unittest', '--verbose']
  const ran = await run(path.join(folder, '.venv/bin/python'), flags, {
    cwd: folder,
    env: {
      ...process.env,
      SUPABASE_URL: url,
      SUPABASE_ANON_KEY: anonKey,
      SUPABASE_SERVICE_ROLE_KEY: serviceKey,
      ...(s3 && {
        S3_PROTOCOL_ACCESS_KEY_ID: s3.accessKeyId,
        S3_PROTOCOL_ACCESS_KEY_SECRET: s3.secretAccessKey,
        S3_PROTOCOL_REGION: s3.region,
      }),
    },
  })
  // The list of tests, and of failed ones, is in the standard error output.
  expect(ran.stderr).toMatch(/^OK$/m)
})
