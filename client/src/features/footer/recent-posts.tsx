import { useQuery } from '@tanstack/react-query'

import { Link } from '@/components/layout/link'
import { RECENT_POSTS } from '@/lib/constants'
import { postTitle } from '@/lib/content/post-title'
import { getSupabase } from '@/lib/supabase/get-supabase'
import { messages } from '@/lib/notices/messages'
import { useIsPhone } from '@/lib/browser/use-media-query'

import { truncate } from './truncate'

async function loadRecentPosts() {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('blog_posts')
    .select('id, title, category, link')
    .eq('is_visible', true)
    .order('id', { ascending: true })
    .limit(RECENT_POSTS.limit)
  if (error) throw error
  return data
}

/** Shows the latest insights: at most six, titles cut to the room that the screen has. Nothing while loading. */
export function RecentPosts() {
  const { data: posts, isError } = useQuery({
    queryKey: ['recent-posts'],
    queryFn: loadRecentPosts,
    meta: { tables: ['blog_posts'] },
  })
  const isSmall = useIsPhone()
  if (isError && !posts) return <p role="status">{messages.posts.recentFailed}</p>

  const length = isSmall ? RECENT_POSTS.smallScreenTitleLength : RECENT_POSTS.titleLength
  return (
    <ul className="flex flex-col md:gap-1">
      {posts?.map((post) => (
        <li key={post.id}>
          <Link
            to={post.link}
            title={postTitle(post)}
            className="inline-block py-1.5 underline-offset-4 hover:text-floodlight hover:underline"
          >
            {truncate(postTitle(post), length)}
          </Link>
        </li>
      ))}
    </ul>
  )
}
