import { useMemo } from 'react'

import { Article } from '@/features/article/article'
import { ARTICLES } from '@/features/article/articles'
import { splitParagraphs } from '@/features/article/paragraphs'
import { useArticle } from '@/features/article/queries'
import { storedFileUrl } from '@/lib/storage-url'
import { useSiteSettings } from '@/lib/use-site-settings'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'
import { article } from '../structured-data'

/** The most characters that search engines show of a description. */
const DESCRIPTION_LENGTH = 160

/** The beginning of the text, cut after a whole word. */
function summary(text: string) {
  const first = splitParagraphs(text)[0] ?? ''
  if (first.length <= DESCRIPTION_LENGTH) return first
  return `${first.slice(0, DESCRIPTION_LENGTH).replace(/\s+\S*$/, '')}…`
}

/** The article whose route ends in `slug`. */
export default function ArticlePage({ slug }: { slug: string }) {
  const facts = ARTICLES.find((candidate) => candidate.slug === slug)
  if (!facts) throw new Error(`No article is known by the name ${slug}`)
  const settings = useSiteSettings()
  const { data } = useArticle(facts.link)

  const title = data?.title ?? facts.defaultTitle
  const description = data ? summary(data.content) : ''
  const image = storedFileUrl(facts.image, 'blog-images')
  const jsonLd = useMemo(
    () => [article({ title, description, image, path: facts.link }, settings)],
    [title, description, image, facts.link, settings],
  )
  return (
    <>
      <PageHead
        articleTitle={title}
        description={description === '' ? undefined : description}
        image={image}
        jsonLd={jsonLd}
      />
      <Article facts={facts} />
      <HashScroll />
    </>
  )
}
