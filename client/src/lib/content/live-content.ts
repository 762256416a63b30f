import { REALTIME_SUBSCRIBE_STATES, RealtimeClient } from '@supabase/realtime-js'
import type { QueryClient } from '@tanstack/react-query'

import { backend } from '@/lib/supabase/backend'
import { DATABASE_SCHEMA, REALTIME } from '@/lib/constants'
import type { Database } from '@/lib/supabase/database.types'

type Table = keyof Database['public']['Tables']

/** The first parts of the keys of all queries that show rows of a table. */
const SHOWN_BY: Partial<Record<Table, readonly string[]>> = {
  settings: ['site-settings', 'password-protection'],
  hero_headlines: ['hero-headlines'],
  testimonials: ['testimonials'],
  testimonial_page_orders: ['testimonials'],
  blog_posts: ['blog-posts', 'recent-posts', 'article'],
  faqs: ['faqs'],
  job_openings: ['job-openings', 'job-roles'],
  timeline_events: ['timeline-events'],
  chat_widget_config: ['chat-welcome'],
  chat_suggested_questions: ['chat-suggestions'],
}

const TABLES = Object.keys(SHOWN_BY) as Table[]

function refresh(queries: QueryClient, tables: readonly Table[]) {
  for (const key of new Set(tables.flatMap((table) => SHOWN_BY[table] ?? [])))
    void queries.invalidateQueries({ queryKey: [key] })
}

/**
 * Reads content again whenever its table changes, until the returned function is called. The channel is the one of
 * supabase-js, without the rest of that. A server without channels is left alone after a few attempts; then content is
 * read again when the visitor comes back to the page, as it is in any case.
 */
export function followContent(queries: QueryClient) {
  let wasJoined = false
  const stop = () => void client.disconnect()
  const client = new RealtimeClient(`${backend.url.replace(/^http/, 'ws')}/realtime/v1`, {
    params: { apikey: backend.key },
    heartbeatIntervalMs: REALTIME.heartbeatMs,
    timeout: REALTIME.timeoutMs,
    reconnectAfterMs: (failures) => {
      // Not before the client has planned the attempt that this forestalls.
      if (!wasJoined && failures >= REALTIME.attempts) queueMicrotask(stop)
      return REALTIME.reconnectAfterMs(failures)
    },
  })

  client
    .channel('content')
    .on('postgres_changes', { event: '*', schema: DATABASE_SCHEMA }, ({ table }) =>
      refresh(queries, [table as Table]),
    )
    .subscribe((status) => {
      if (status !== REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) return
      // What changed while the connection was gone was told to nobody.
      if (wasJoined) refresh(queries, TABLES)
      wasJoined = true
    })
  return stop
}
