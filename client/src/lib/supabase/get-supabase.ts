/**
 * The site's one client, the same on every call. It is a file of its own that comes when it is first
 * asked for, because the first screen can be shown without it.
 */
export async function getSupabase() {
  const { supabase } = await import('./client')
  return supabase
}
