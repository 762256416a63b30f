import { createClient } from '@supabase/supabase-js'

import { backend } from './backend'
import { AUTH_STORAGE_KEY } from '@/lib/session/auth-storage'
import { DATABASE_SCHEMA, REALTIME } from '@/lib/constants'
import type { Database } from './database.types'

/** Tells the server which application calls; a header that every Supabase service lets browsers send. */
const CLIENT_INFO = 'terrace-web/1.0'

/** The site's one client. It speaks to any server with Supabase's interfaces. */
export const supabase = createClient<Database>(backend.url, backend.key, {
  db: { schema: DATABASE_SCHEMA },
  auth: {
    flowType: 'pkce',
    persistSession: true,
    autoRefreshToken: true,
    storageKey: AUTH_STORAGE_KEY,
  },
  realtime: {
    heartbeatIntervalMs: REALTIME.heartbeatMs,
    timeout: REALTIME.timeoutMs,
    reconnectAfterMs: REALTIME.reconnectAfterMs,
  },
  global: { headers: { 'X-Client-Info': CLIENT_INFO } },
})

/** A client that keeps nothing: whoever signs in with it stays a visitor of the site. */
export function createPassingClient() {
  return createClient<Database>(backend.url, backend.key, {
    auth: {
      flowType: 'pkce',
      persistSession: false,
      autoRefreshToken: false,
      detectSessionInUrl: false,
      storageKey: `${AUTH_STORAGE_KEY}-passing`,
    },
    global: { headers: { 'X-Client-Info': CLIENT_INFO } },
  })
}
