import { useContent } from '@/lib/content/use-content'
import { getSupabase } from '@/lib/supabase/get-supabase'

async function loadFaqs() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('faqs')
    .select('*')
    .eq('is_visible', true)
    .order('order_index')
  if (error) throw error
  return data
}

/** Returns all questions that visitors may read, in their set order. */
export function useFaqs() {
  return useContent({ queryKey: ['faqs'], queryFn: loadFaqs, meta: { tables: ['faqs'] } })
}

export type FaqEntry = Awaited<ReturnType<typeof loadFaqs>>[number]
