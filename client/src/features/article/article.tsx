import ArrowLeft from 'lucide-react/icons/arrow-left'
import ArrowUpRight from 'lucide-react/icons/arrow-up-right'
import { useState } from 'react'

import { SectionLink } from '@/components/layout/section-link'
import { buttonClass } from '@/components/ui/button-class'
import { PLACEHOLDER_IMAGE } from '@/components/ui/image-with-fallback'
import { Skeleton } from '@/components/ui/skeleton'
import { cn } from '@/lib/cn'
import { SKELETONS } from '@/lib/constants'
import { formatDay } from '@/lib/dates'
import { messages } from '@/lib/notices/messages'
import { useErrorToast } from '@/lib/notices/use-error-toast'
import { SECTION } from '@/lib/sections'
import { servedLead, servedTitle } from '@/lib/loading/served-texts'
import { usePicture } from '@/lib/browser/use-picture'
import { ARTICLE_WIDTHS } from '@/lib/pictures'
import { storedPicture, type StoredPicture } from '@/lib/supabase/storage-url'

import { ARTICLE_PICTURES, type ArticleFacts } from './articles'
import { CALLOUTS } from './callouts'
import { copy } from './copy'
import { NextSteps } from './next-steps'
import { arrange, readingMinutes, splitParagraphs } from './paragraphs'
import { ArticleFetchError, articleSources, useArticle, type StoredArticle } from './queries'

/**
 * Shows one article: picture, title, text with its callouts, sources. `lead` is its first paragraph if that is known
 * before the text is.
 */
export function Article({ facts, lead }: { facts: ArticleFacts; lead?: string }) {
  const { data, error, isPending } = useArticle(facts.link)
  const title = data?.title ?? servedTitle(facts.link) ?? facts.defaultTitle

  const { failed, broken } = messages.article
  useErrorToast(data ? null : error, error instanceof ArticleFetchError ? failed : broken)

  return (
    <article className="bg-paper pt-20 pb-14 md:pt-28 md:pb-24 lg:pt-32 print:pt-0">
      <div className="container-page">
        <SectionLink
          section={SECTION.blog}
          className={buttonClass({ variant: 'ghost', className: '-ml-4 print:hidden' })}
        >
          <ArrowLeft aria-hidden className="size-5" />
          {copy.back}
        </SectionLink>
        <header className="mt-4 max-w-[64rem] md:mt-6">
          <h1 className="text-title">{title}</h1>
          <Facts article={data} />
        </header>
        {/* Its name is known before the text is, so it need not wait for it. */}
        <HeroImage
          key={facts.image}
          {...storedPicture(facts.image, ARTICLE_PICTURES, ARTICLE_WIDTHS)}
        />
        {isPending ? (
          <TextSkeleton lead={servedLead(facts.link) ?? lead} />
        ) : (
          <>
            <Body text={data?.content ?? ''} facts={facts} />
            <Sources sources={articleSources(data)} />
            {data && <NextSteps link={facts.link} />}
          </>
        )}
      </div>
    </article>
  )
}

/** Shows topic, date and reading time in one line, whose place is there before they are. */
function Facts({ article }: { article: StoredArticle | undefined }) {
  const date = new Date(article?.created_at ?? '')
  return (
    <p className="mt-4 flex min-h-[1lh] flex-wrap gap-x-5 gap-y-1 text-small text-stone">
      {article && (
        <>
          <span className="font-semibold text-pitch">{article.category}</span>
          <time dateTime={article.created_at}>{formatDay(date)}</time>
          <span>{copy.minutes(readingMinutes(article.content))}</span>
        </>
      )}
    </p>
  )
}

/** The first paragraph leads in; the others have the size of a book's page. */
const FIRST = 'text-[1.125rem] leading-[1.6] font-medium sm:text-lead'
const REST = 'text-[1.0625rem] leading-[1.65] sm:text-[1.125rem] sm:leading-[1.7]'

const MEASURE = 'mx-auto max-w-[42rem]'
const TEXT = cn(MEASURE, 'mt-12 flex flex-col gap-6 lg:mt-16')

function TextSkeleton({ lead }: { lead: string | undefined }) {
  return (
    // As high as the screen, so that the footer does not visibly jump when the text is loaded.
    <div className={cn(TEXT, 'min-h-dvh')}>
      {lead !== undefined && (
        <p data-lead className={FIRST}>
          {lead}
        </p>
      )}
      <div role="status" aria-label={copy.loading} className="flex flex-col gap-4">
        {Array.from({ length: SKELETONS.articleLines }, (_, index) => (
          <Skeleton key={index} className="h-5 last:w-3/5" />
        ))}
      </div>
    </div>
  )
}

/** Shows the article's picture over a skeleton that shows until it is there; the placeholder if it never is. */
function HeroImage(picture: StoredPicture) {
  const [isLoading, setIsLoading] = useState(true)
  const { attributes, isFailed, onError } = usePicture(picture)
  return (
    <div className="relative mt-6 aspect-video w-full overflow-hidden rounded-lg bg-mist md:mt-10 lg:mt-14 lg:aspect-[21/9]">
      {isLoading && !isFailed && <Skeleton className="absolute inset-0 rounded-none" />}
      <img
        alt=""
        width={1600}
        height={900}
        fetchPriority="high"
        // It replaces the same picture in the first screen that the server has sent, without a gap.
        decoding="sync"
        className="relative size-full object-cover"
        onLoad={() => setIsLoading(false)}
        onError={onError}
        {...(isFailed ? { src: PLACEHOLDER_IMAGE } : attributes)}
      />
    </div>
  )
}

function Body({ text, facts }: { text: string; facts: ArticleFacts }) {
  const blocks = arrange(splitParagraphs(text), CALLOUTS[facts.link] ?? [])
  return (
    <div className={TEXT}>
      {blocks.map(({ kind, text: words }, index) => {
        if (kind === 'callout') return <CalloutBox key={index} text={words} />
        if (kind === 'heading')
          return (
            <h2 key={index} className="mt-6 -mb-2 text-heading">
              {words}
            </h2>
          )
        return (
          <p key={index} className={index === 0 ? FIRST : REST}>
            {words}
          </p>
        )
      })}
    </div>
  )
}

function CalloutBox({ text }: { text: string }) {
  return (
    <aside className="relative my-4 overflow-hidden rounded-lg bg-ink p-6 text-chalk sm:-mx-8 sm:p-9 print:border-2">
      <Steps />
      <h2 className="font-display text-subheading font-semibold text-floodlight">
        {copy.calloutTitle}
      </h2>
      <p className="relative mt-3 max-w-[52ch] text-chalk/90">{text}</p>
    </aside>
  )
}

/** Shows rising steps in the corner of a callout. */
function Steps() {
  return (
    <svg
      aria-hidden
      viewBox="0 0 3 3"
      shapeRendering="crispEdges"
      className="absolute right-0 bottom-0 size-24 fill-ink-raised print:hidden"
    >
      <path d="M0 3V2H1V1H2V0H3V3Z" />
    </svg>
  )
}

function Sources({ sources }: { sources: readonly { link: string; title: string }[] }) {
  if (sources.length === 0) return null
  return (
    <section aria-labelledby="sources-heading" className={cn(MEASURE, 'mt-14')}>
      <h2 id="sources-heading" className="border-t-4 border-ink pt-5 text-subheading">
        {copy.sources}
      </h2>
      <ul className="mt-4 flex flex-col gap-2">
        {sources.map(({ link, title }) => (
          <li key={link}>
            <a
              href={link}
              target="_blank"
              rel="noopener noreferrer"
              className="inline-block py-1 text-pitch underline underline-offset-4 hover:text-ink"
            >
              {title}
              <ArrowUpRight aria-hidden className="ml-1.5 inline size-4 align-[-0.15em]" />
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}
