import { useMemo } from 'react'

import { Article } from '@/features/article/article'
import { ARTICLE_PICTURES, articleAt } from '@/features/article/articles'
import { splitParagraphs } from '@/features/article/paragraphs'
import { useArticle } from '@/features/article/queries'
import { storedFileUrl } from '@/lib/supabase/storage-url'
import { useSiteSettings } from '@/lib/content/use-site-settings'

import { HashScroll } from '../hash-scroll'
import { DESCRIPTION_LENGTH } from '../head'
import { PageHead } from '../page-head'
import type { PageProps } from '../pages'
import { article, siteOf } from '../structured-data'

/** Returns the beginning of the text, cut after a whole word. */
function summary(text: string) {
  const first = splitParagraphs(text)[0] ?? ''
  if (first.length <= DESCRIPTION_LENGTH) return first
  return `${first.slice(0, DESCRIPTION_LENGTH).replace(/\s+\S*$/, '')}…`
}

export function FirstScreen({ path, title, lead }: PageProps & { title: string; lead: string }) {
  return <Article facts={{ ...articleAt(path), defaultTitle: title }} lead={lead} />
}

/** Shows the article at `path`. */
export default function ArticlePage({ path }: PageProps) {
  const facts = articleAt(path)
  const settings = useSiteSettings()
  const { data, isPending } = useArticle(facts.link)

  const title = data?.title ?? facts.defaultTitle
  const description = data?.content ? summary(data.content) : ''
  const image = new URL(storedFileUrl(facts.image, ARTICLE_PICTURES), window.location.origin).href
  const jsonLd = useMemo(
    () => [article({ title, description, image, path: facts.link }, siteOf(settings))],
    [title, description, image, facts.link, settings],
  )
  return (
    <>
      <PageHead
        articleTitle={title}
        description={description === '' ? undefined : description}
        image={image}
        jsonLd={jsonLd}
        isPending={isPending}
      />
      <Article facts={facts} />
      <HashScroll />
    </>
  )
}
