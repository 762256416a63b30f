import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { TYPEWRITER } from '@/lib/constants'
import { servedTitle } from '@/lib/loading/served-texts'
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
 * Returns the headlines to rotate through. While they are loading, that is the one that the server has sent; without one,
 * nothing for a moment. The fallback phrases if there are none or if loading takes too long.
 */
export function useHeadlines(): readonly string[] {
  const { data, isPending } = useQuery({
    queryKey: ['hero-headlines'],
    queryFn: loadHeadlines,
    meta: { tables: ['hero_headlines'] },
  })
  const isLate = useAfter(TYPEWRITER.patienceMs)
  const [served] = useState(servedHeadlines)
  if (isPending && (served.length > 0 || !isLate)) return served
  return data && data.length > 0 ? data : FALLBACK_HEADLINES
}

function servedHeadlines(): readonly string[] {
  const title = servedTitle('/')
  return title === undefined ? [] : [title]
}
