import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import WebSocket from 'ws'

import type { Database } from '@client/lib/supabase/database.types'

export type Client = SupabaseClient<Database>

/** How a client differs from one that knows nothing but the URL and a key. */
export interface Traits {
  /** Sent in place of the key. */
  token?: string
  /** How links that are mailed to the user lead back; `implicit` by default. */
  flowType?: 'implicit' | 'pkce'
  /** The program that it says it is; Node.js by default. */
  userAgent?: string
  /** What it makes requests with. */
  fetch?: typeof fetch
  /** Whether it has what is experimental in it: recovery codes. */
  experimental?: boolean
}

/** Returns the stock client of a project whose types are `Schema`, keeping nothing beyond its own life. */
export function connect<Schema = Database>(
  url: string,
  key: string,
  { token, flowType, userAgent, fetch, experimental = false }: Traits = {},
): SupabaseClient<Schema> {
  return createClient<Schema>(url, key, {
    auth: {
      persistSession: false,
      autoRefreshToken: false,
      experimental: { recoveryCodes: experimental },
      ...(flowType === undefined ? {} : { flowType }),
    },
    global: {
      ...(fetch === undefined ? {} : { fetch }),
      headers: {
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
        ...(userAgent === undefined ? {} : { 'User-Agent': userAgent }),
      },
    },
    // Node.js 20 has no WebSocket of its own.
    realtime: { transport: WebSocket as unknown as typeof globalThis.WebSocket },
  })
}
