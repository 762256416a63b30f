import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import WebSocket from 'ws'

import type { Database } from '@client/lib/database.types'

export type Client = SupabaseClient<Database>

/** The stock client, keeping nothing. `token` is sent in place of the key where one is given. */
export function connect(url: string, key: string, token?: string): Client {
  return createClient<Database>(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
    global: { headers: token === undefined ? {} : { Authorization: `Bearer ${token}` } },
    // Node.js 20 has no WebSocket of its own.
    realtime: { transport: WebSocket as unknown as typeof globalThis.WebSocket },
  })
}
