import { useContent } from '@/lib/content/use-content'
import { getSupabase } from '@/lib/supabase/get-supabase'

async function loadPosts() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('blog_posts')
    .select('id, title, category, description, image_url, link, is_visible')
    .eq('is_visible', true)
    .order('id', { ascending: true })
  if (error) throw error
  return data
}

/** Returns all articles that visitors may read, oldest first. */
export function usePosts() {
  return useContent({
    queryKey: ['blog-posts'],
    queryFn: loadPosts,
    meta: { tables: ['blog_posts'] },
  })
}

export type Post = Awaited<ReturnType<typeof loadPosts>>[number]
