import { useQuery } from '@tanstack/react-query'

import { content } from '@/lib/supabase/content'

async function loadPosts() {
  const { data, error } = await content
    .from('blog_posts')
    .select('id, title, category, description, image_url, link, is_visible')
    .eq('is_visible', true)
    .order('id', { ascending: true })
  if (error) throw error
  return data
}

/** All articles that visitors may read, oldest first. */
export function usePosts() {
  return useQuery({ queryKey: ['blog-posts'], queryFn: loadPosts })
}

export type Post = Awaited<ReturnType<typeof loadPosts>>[number]
