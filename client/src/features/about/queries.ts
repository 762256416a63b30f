import { useQuery } from '@tanstack/react-query'

import { content } from '@/lib/supabase/content'

async function loadTimeline() {
  const { data, error } = await content
    .from('timeline_events')
    .select('*')
    .order('order_index', { ascending: true })
  if (error) throw error
  return data
}

/** The stations of the company's journey, in their set order. */
export function useTimeline() {
  return useQuery({ queryKey: ['timeline-events'], queryFn: loadTimeline })
}

export type TimelineEvent = Awaited<ReturnType<typeof loadTimeline>>[number]
