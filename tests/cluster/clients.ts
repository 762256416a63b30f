import { randomUUID } from 'node:crypto'

import { Client } from 'pg'
import { inject } from 'vitest'

/** Runs SQL as the superuser, on the primary unless another server is named; returns the rows of a single statement. */
export async function sql(
  text: string,
  connectionString = inject('cluster').databaseUrl,
): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Returns a name that no other test uses. */
export const unique = (what: string): string => `${what}-${randomUUID()}`

/** Returns the data that a call of a client has got, which must have gone well. */
export function found<R extends { data: unknown; error: Error | null }>(
  result: R,
): NonNullable<Extract<R, { error: null }>['data']> {
  if (result.error) throw result.error
  if (result.data === null || result.data === undefined) throw new Error('there is no data')
  return result.data
}
