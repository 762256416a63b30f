import { useQuery } from '@tanstack/react-query'

import { content } from '@/lib/supabase/content'

async function loadFaqs() {
  const { data, error } = await content
    .from('faqs')
    .select('*')
    .eq('is_visible', true)
    .order('order_index')
  if (error) throw error
  return data
}

/** All questions that visitors may read, in their set order. */
export function useFaqs() {
  return useQuery({ queryKey: ['faqs'], queryFn: loadFaqs })
}

export type FaqEntry = Awaited<ReturnType<typeof loadFaqs>>[number]
