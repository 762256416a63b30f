import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, test } from './fixtures.ts'

test("the client's types are those of the schema", async ({ server }) => {
  const file = path.resolve(import.meta.dirname, '../../client/src/lib/supabase/database.types.ts')
  expect(await readFile(file, 'utf8'), 'run `basalt gen types typescript` again').toBe(
    await server.types(),
  )
})
