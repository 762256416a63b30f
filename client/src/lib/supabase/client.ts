import { createClient } from '@supabase/supabase-js'

import { DATABASE_SCHEMA, REALTIME } from '@/lib/constants'
import { AUTH_STORAGE_KEY } from '@/lib/session/auth-storage'

import { backend } from './backend'
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
    // The site has one channel; without it there is nothing to stay connected for.
    disconnectOnEmptyChannelsAfterMs: 0,
  },
  global: { headers: { 'X-Client-Info': CLIENT_INFO } },
})
