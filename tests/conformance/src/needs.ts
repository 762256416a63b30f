import { Client } from 'pg'

import { sqlIsThere } from './schema.ts'
import type { Target } from './target.ts'

/** What a case may need beside the server's address and its anonymous key. */
export const needs = {
  service: 'a service key (--service-key)',
  sql: "the kit's schema, seen by REST (--db-url of the same database, or --print-sql run by hand)",
  db: 'a database (--db-url)',
  mail: 'the mails that the server sends (--mail-url)',
  jwt: 'the secret of the tokens (--jwt-secret)',
  s3: 'keys of the S3 protocol (--s3-access-key-id, --s3-secret-access-key)',
  functions: "the kit's functions, deployed (see the README)",
  platform: "an access token and the project's reference (--access-token, --project-ref)",
} as const

export type Need = keyof typeof needs

/** Finds out which needs a server does not meet, with the reason of each. */
export async function missingNeeds(target: Target): Promise<Map<Need, string>> {
  const missing = new Map<Need, string>()
  const expect = (need: Need, met: boolean) => {
    if (!met) missing.set(need, `needs ${needs[need]}`)
  }
  expect('service', target.serviceKey !== '')
  expect('jwt', target.jwtSecret !== '')
  expect('s3', target.s3 !== null)
  expect('platform', target.platform !== null)
  const [sql, db, mail, functions] = await Promise.all([
    sqlIsThere(target),
    reaches(target.databaseUrl),
    responds(target.mailUrl && `${target.mailUrl}/api/v1/messages?limit=1`, {}),
    responds(`${target.url}/functions/v1/conformance-echo/ready`, {
      apikey: target.anonKey,
      authorization: `Bearer ${target.anonKey}`,
    }),
  ])
  expect('sql', sql)
  expect('db', db)
  expect('mail', mail)
  expect('functions', functions)
  return missing
}

async function responds(url: string, headers: Record<string, string>): Promise<boolean> {
  if (url === '') return false
  try {
    // The first call of a function may have to start it.
    return (await fetch(url, { headers, redirect: 'error', signal: AbortSignal.timeout(60_000) }))
      .ok
  } catch {
    return false
  }
}

async function reaches(connectionString: string): Promise<boolean> {
  if (connectionString === '') return false
  const client = new Client({ connectionString, connectionTimeoutMillis: 10_000 })
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}
