import { focusManager, QueryClient } from '@tanstack/react-query'

import type { Database } from '@/lib/supabase/database.types'

/** A table of the site's database. */
export type Table = keyof Database['public']['Tables']

declare module '@tanstack/react-query' {
  interface Register {
    /** Queries of content name the tables whose rows they show; they are read again when one of these changes. */
    queryMeta: { tables: readonly Table[] }
  }
}

/** How long a page that is opened again shows what was read before without asking. */
const FRESH_MS = 60_000

// Whoever edits a row in another window comes back by the window's focus; the page was visible all the time.
focusManager.setEventListener((onFocus) => {
  const notice = () => onFocus()
  window.addEventListener('focus', notice)
  window.addEventListener('visibilitychange', notice)
  return () => {
    window.removeEventListener('focus', notice)
    window.removeEventListener('visibilitychange', notice)
  }
})

/** Content is read again when the visitor comes back to it; the client retries lost requests itself. */
export function createQueryClient() {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: FRESH_MS, retry: false, refetchOnWindowFocus: 'always' },
    },
  })
}
