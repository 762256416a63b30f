import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import { inject } from 'vitest'

import type { Database } from '@client/lib/database.types'

export type Client = SupabaseClient<Database>

/** The stock client of somebody who is not signed in. */
export function visitor(): Client {
  const { url, anonKey } = inject('access')
  return client(url, anonKey)
}

/** The stock client of a trusted server. */
export function service(): Client {
  const { url, serviceKey } = inject('access')
  return client(url, serviceKey)
}

function client(url: string, key: string): Client {
  return createClient<Database>(url, key, {
    auth: { persistSession: false, autoRefreshToken: false },
  })
}
