import { useQuery } from '@tanstack/react-query'

import { content } from '@/lib/content'

import { FALLBACK_HEADLINES } from './copy'

async function loadHeadlines() {
  const { data, error } = await content
    .from('hero_headlines')
    .select('headline, order_index')
    .eq('is_visible', true)
    .order('order_index')
  if (error) throw error
  return data.map(({ headline }) => headline)
}

/** The headlines to rotate through: nothing while loading, the fallback phrases where there are none. */
export function useHeadlines(): readonly string[] {
  const { data, isPending } = useQuery({ queryKey: ['hero-headlines'], queryFn: loadHeadlines })
  if (isPending) return NONE
  return data && data.length > 0 ? data : FALLBACK_HEADLINES
}

const NONE: readonly string[] = []
