import { useQuery } from '@tanstack/react-query'

import { TYPEWRITER } from '@/lib/constants'
import { getSupabase } from '@/lib/supabase/get-supabase'
import { useAfter } from '@/lib/browser/use-after'

import { FALLBACK_HEADLINES } from './copy'

async function loadHeadlines() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('hero_headlines')
    .select('headline, order_index')
    .eq('is_visible', true)
    .order('order_index')
  if (error) throw error
  return data.map(({ headline }) => headline)
}

/**
 * Returns the headlines to rotate through: nothing for a moment while loading, the fallback phrases if there are
 * none or if loading takes too long.
 */
export function useHeadlines(): readonly string[] {
  const { data, isPending } = useQuery({
    queryKey: ['hero-headlines'],
    queryFn: loadHeadlines,
    meta: { tables: ['hero_headlines'] },
  })
  const isLate = useAfter(TYPEWRITER.patienceMs)
  if (isPending && !isLate) return NONE
  return data && data.length > 0 ? data : FALLBACK_HEADLINES
}

const NONE: readonly string[] = []
