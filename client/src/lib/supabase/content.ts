import { PostgrestClient } from '@supabase/postgrest-js'

import { backend } from './backend'
import { DATABASE_SCHEMA } from '@/lib/constants'
import type { Database } from './database.types'

/**
 * The reader of what everybody may see. It is the part of supabase-js that speaks to tables, so that a
 * visitor who only reads need not load the parts for sign-in, storage and channels.
 */
export const content = new PostgrestClient<Database>(`${backend.url}/rest/v1`, {
  schema: DATABASE_SCHEMA,
  headers: { apikey: backend.key, Authorization: `Bearer ${backend.key}` },
  fetch: (input, init) => fetch(input, init),
})
