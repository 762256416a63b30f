import { REALTIME_SUBSCRIBE_STATES } from '@supabase/supabase-js'
import type { QueryClient } from '@tanstack/react-query'

import { DATABASE_SCHEMA, REALTIME } from '@/lib/constants'
import { supabase } from '@/lib/supabase/client'

import type { Table } from './query-client'

/** Invalidates the queries that show rows of `table`, according to their `meta`; without a table, all content. */
function refresh(queries: QueryClient, table?: Table) {
  void queries.invalidateQueries({
    predicate: ({ meta }) =>
      meta !== undefined && (table === undefined || meta.tables.includes(table)),
  })
}

/** The payload with which a trigger tells that a row was hidden (docs/hidden-rows.md). */
interface Hidden {
  table: Table
}

/**
 * Reads content again whenever its table changes, until the returned function is called. A row that is hidden is no
 * change to visitors, who may not read it any more: the database tells of it itself, on the private channel, which
 * nobody else can send to.
 *
 * A server that has let nobody join within the time-out has no channels: it is left alone, and content is read again
 * when the visitor comes back to the page, as it is in any case.
 */
export function followContent(queries: QueryClient) {
  let wasJoined = false
  const channel = supabase
    .channel('content', { config: { private: true } })
    .on('postgres_changes', { event: '*', schema: DATABASE_SCHEMA }, ({ table }) =>
      refresh(queries, table as Table),
    )
    .on<Hidden>('broadcast', { event: 'hidden' }, ({ payload }) => refresh(queries, payload.table))
    .subscribe((status) => {
      if (status !== REALTIME_SUBSCRIBE_STATES.SUBSCRIBED) return
      // Changes during the interruption were not announced.
      if (wasJoined) refresh(queries)
      wasJoined = true
    })

  const leave = () => void supabase.removeChannel(channel)
  const timer = setTimeout(() => {
    if (!wasJoined) leave()
  }, REALTIME.timeoutMs)
  return () => {
    clearTimeout(timer)
    leave()
  }
}
