import { getSupabase } from '@/lib/supabase/get-supabase'

import { useContent } from './use-content'

const EXPERT_COLUMNS = 'id, name, title, role, quote, about, image_path, is_visible' as const

/** Returns the experts of a page in the order that is set for it; those that name the page if no order is. */
async function loadTestimonials(page: string) {
  const supabase = await getSupabase()
  const ordered = await supabase
    .from('testimonial_page_orders')
    .select(`order_index, testimonials!inner(${EXPERT_COLUMNS})`)
    .eq('page_name', page)
    .eq('testimonials.is_visible', true)
    .order('order_index', { ascending: true })
  if (ordered.error) throw ordered.error
  if (ordered.data.length > 0) return ordered.data.map(({ testimonials }) => testimonials)

  const named = await supabase
    .from('testimonials')
    .select(EXPERT_COLUMNS)
    .eq('is_visible', true)
    .contains('visible_on_pages', [page])
  if (named.error) throw named.error
  return named.data
}

export function useTestimonials(page: string) {
  return useContent({
    queryKey: ['testimonials', page],
    queryFn: () => loadTestimonials(page),
    meta: { tables: ['testimonials', 'testimonial_page_orders'] },
  })
}

export type Testimonial = Awaited<ReturnType<typeof loadTestimonials>>[number]
