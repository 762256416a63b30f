import { randomUUID } from 'node:crypto'

import type { SupabaseClient } from '@supabase/supabase-js'
import { Client } from 'pg'
import { inject } from 'vitest'

import { connect } from '../support/client.ts'
import type { Access } from '../support/server.mjs'

/** The part of the project's tables that clients see. */
export interface Schema {
  public: {
    Tables: {
      notes: {
        Row: { id: string; body: string }
        Insert: { id?: string; body: string }
        Update: { id?: string; body?: string }
        Relationships: []
      }
    }
    Views: Record<string, never>
    Functions: Record<string, never>
  }
}

export type NotesClient = SupabaseClient<Schema>

/** The stock client of a visitor, by `fetch` or what stands in for it. */
export const visitor = ({ url, anonKey }: Access, call = fetch): NotesClient =>
  connect<Schema>(url, anonKey, { fetch: call })

/** The stock client of a trusted server. */
export const service = ({ url, serviceKey }: Access, call = fetch): NotesClient =>
  connect<Schema>(url, serviceKey, { fetch: call })

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

/** A name that no other test uses. */
export const unique = (what: string): string => `${what}-${randomUUID()}`

/** The data that a call of a client has got, which must have gone well. */
export function found<R extends { data: unknown; error: Error | null }>(
  result: R,
): NonNullable<Extract<R, { error: null }>['data']> {
  if (result.error) throw result.error
  if (result.data === null || result.data === undefined) throw new Error('there is no data')
  return result.data
}
