/** Clients of the project `notes`. */
import type { SupabaseClient } from '@supabase/supabase-js'

import { connect } from './client.ts'
import type { Access } from './server.mjs'

/** The part of the project's tables that clients see. */
interface Schema {
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

/** Returns the stock client of a visitor, by `fetch` or what stands in for it. */
export const visitor = ({ url, anonKey }: Access, call = fetch): NotesClient =>
  connect<Schema>(url, anonKey, { fetch: call })

/** Returns the stock client of a trusted server. */
export const service = ({ url, serviceKey }: Access, call = fetch): NotesClient =>
  connect<Schema>(url, serviceKey, { fetch: call })
