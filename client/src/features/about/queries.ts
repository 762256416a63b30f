import { useContent } from '@/lib/content/use-content'
import { getSupabase } from '@/lib/supabase/get-supabase'

async function loadTimeline() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('timeline_events')
    .select('*')
    .order('order_index', { ascending: true })
  if (error) throw error
  return data
}

/** Returns the stations of the company's journey, in their set order. */
export function useTimeline() {
  return useContent({
    queryKey: ['timeline-events'],
    queryFn: loadTimeline,
    meta: { tables: ['timeline_events'] },
  })
}

export type TimelineEvent = Awaited<ReturnType<typeof loadTimeline>>[number]
