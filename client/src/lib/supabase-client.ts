import { createClient } from '@supabase/supabase-js'

import { backend } from './backend'
import type { Database } from './database.types'

/** The site's one client. It speaks to any server with Supabase's interfaces. */
export const supabase = createClient<Database>(backend.url, backend.key, {
  auth: { flowType: 'pkce', persistSession: true, autoRefreshToken: true },
})
