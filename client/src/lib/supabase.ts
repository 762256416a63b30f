import { createClient } from '@supabase/supabase-js'

import type { Database } from './database.types'
import { readRuntimeConfig } from './runtime-config'

const { url, key } = readRuntimeConfig(document, import.meta.env)

/** The site's one client. It speaks to any server with Supabase's interfaces. */
export const supabase = createClient<Database>(url, key, {
  auth: { flowType: 'pkce', persistSession: true, autoRefreshToken: true },
})
