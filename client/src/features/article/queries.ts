import { useQuery } from '@tanstack/react-query'

import { getSupabase } from '@/lib/supabase/get-supabase'

import { nextOf } from './articles'

/** PostgREST's code for a read of one row that found none. */
const NOT_FOUND = 'PGRST116'

/** The backend responded with an error, as opposed to anything that broke on the way. */
export class ArticleFetchError extends Error {
  /** Whether there is no such article, or none any more. */
  readonly isGone: boolean

  constructor({ code, message }: { code: string; message: string }) {
    super(message)
    this.isGone = code === NOT_FOUND
  }
}

async function loadArticle(link: string) {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('blog_posts')
    .select(
      'title, category, content, created_at, source_link1, source_title1, source_link2, source_title2',
    )
    .eq('link', link)
    .eq('is_visible', true)
    .single()
  if (error) throw new ArticleFetchError(error)
  return data
}

/** Returns the article at this route. It goes when it is hidden, but not when it cannot be read again. */
export function useArticle(link: string) {
  const { data, error, isPending } = useQuery({
    queryKey: ['article', link],
    queryFn: () => loadArticle(link),
    meta: { tables: ['blog_posts'] },
  })
  const isGone = error instanceof ArticleFetchError && error.isGone
  return { data: isGone ? undefined : data, error, isPending }
}

async function loadOthers(link: string) {
  const supabase = await getSupabase()
  const { data, error } = await supabase
    .from('blog_posts')
    .select('title, category, image_url, link')
    .eq('is_visible', true)
    .neq('link', link)
    .order('id', { ascending: true })
  if (error) throw error
  return nextOf(link, data)
}

/** Returns the articles to read after this one: the next two, and the first ones after the last. */
export function useNextArticles(link: string) {
  return useQuery({
    queryKey: ['next-articles', link],
    queryFn: () => loadOthers(link),
    meta: { tables: ['blog_posts'] },
  })
}

export type NextArticle = Awaited<ReturnType<typeof loadOthers>>[number]

export type StoredArticle = Awaited<ReturnType<typeof loadArticle>>

/** Returns the article's sources: those that have both a link and a title. */
export function articleSources(article: StoredArticle | undefined) {
  if (!article) return []
  const { source_link1, source_title1, source_link2, source_title2 } = article
  const pairs = [
    { link: source_link1, title: source_title1 },
    { link: source_link2, title: source_title2 },
  ]
  return pairs.flatMap(({ link, title }) => (link && title ? [{ link, title }] : []))
}
