import { getSupabase } from '@/lib/supabase/get-supabase'

import { useContent } from './use-content'

async function loadJobOpenings() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('job_openings')
    .select('id, title, emoji, description, created_at')
    .eq('is_active', true)
    .order('display_order', { ascending: true })
  if (error) throw error
  return data
}

/** Returns the positions that are open, in their set order. */
export function useJobOpenings() {
  return useContent({
    queryKey: ['job-openings'],
    queryFn: loadJobOpenings,
    meta: { tables: ['job_openings'] },
  })
}

export type JobOpening = Awaited<ReturnType<typeof loadJobOpenings>>[number]

async function loadJobRoles() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('job_openings')
    .select('id, title')
    .eq('is_active', true)
    .order('display_order', { ascending: true })
  if (error) throw error
  return data
}

/** Returns the open positions to choose from in a form. */
export function useJobRoles() {
  return useContent({
    queryKey: ['job-roles'],
    queryFn: loadJobRoles,
    meta: { tables: ['job_openings'] },
  })
}
