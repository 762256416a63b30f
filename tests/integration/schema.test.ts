import { readFile } from 'node:fs/promises'
import path from 'node:path'

import { expect, inject, test } from 'vitest'

import { psql } from '../support/server.mjs'

const own = inject('own')
const folder = path.resolve(import.meta.dirname, '../../schema/site/tests')

test.skipIf(own === null).each(['access', 'search'])('the rules of %s.sql hold', async (name) => {
  if (own === null) return
  const rules = await readFile(path.join(folder, `${name}.sql`), 'utf8')
  // The first that does not hold is an error of psql's.
  await expect(psql(own.instance, rules)).resolves.toBeTypeOf('string')
})
