import { focusManager, QueryClient } from '@tanstack/react-query'

import type { Database } from '@/lib/supabase/database.types'

/** A table of the site's database. */
export type Table = keyof Database['public']['Tables']

declare module '@tanstack/react-query' {
  interface Register {
    /** Queries of content name the tables whose rows they show; they are fetched again when one of these changes. */
    queryMeta: { tables: readonly Table[] }
  }
}

/** How long content counts as fresh, so that a page that is opened again does not fetch it. */
const FRESH_MS = 60_000

// By the window's focus, since the page stays visible while a row is edited in another window.
focusManager.setEventListener((onFocus) => {
  const notice = () => onFocus()
  window.addEventListener('focus', notice)
  window.addEventListener('visibilitychange', notice)
  return () => {
    window.removeEventListener('focus', notice)
    window.removeEventListener('visibilitychange', notice)
  }
})

/**
 * Makes the client of queries. Content is fetched again when the window gets the focus; the client of supabase-js
 * retries lost requests itself.
 */
export function createQueryClient() {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: FRESH_MS, retry: false, refetchOnWindowFocus: 'always' },
    },
  })
}
