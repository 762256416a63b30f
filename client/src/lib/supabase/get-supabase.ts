import { loadPart } from '@/lib/loading/load-part'

/** The type of the site's client. */
export type Supabase = typeof import('./client').supabase

/**
 * Returns the site's one client. It is a file of its own, loaded beside the entry: the first screen stands without it,
 * and everything that reads or sends waits for it here.
 */
export async function getSupabase(): Promise<Supabase> {
  const { supabase } = await loadPart(() => import('./client'))
  return supabase
}
