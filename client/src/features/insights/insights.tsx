import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { SwipeRow } from '@/components/layout/swipe-row'
import { Failure } from '@/components/ui/failure'
import { Skeleton } from '@/components/ui/skeleton'
import { SKELETONS } from '@/lib/constants'
import { messages } from '@/lib/notices/messages'
import { SECTION } from '@/lib/sections'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'
import { PostCard } from './post-card'
import { usePosts } from './queries'

/** Shows the blog's articles in one, two or three columns. */
export function Insights() {
  return (
    <Section id={SECTION.blog} tone="paper">
      <div className="container-page">
        <SectionHeading
          section={SECTION.blog}
          title={copy.title}
          lead={copy.lead}
          scale="quiet"
          split
        />
        <div className="mt-5 md:mt-14 lg:mt-16">
          <PostGrid />
        </div>
      </div>
    </Section>
  )
}

const GRID = 'md:grid md:grid-cols-2 md:gap-x-8 md:gap-y-14 lg:grid-cols-3 lg:gap-x-10 lg:gap-y-18'

function PostGrid() {
  const { data: posts, error, isPending } = usePosts()
  useErrorToast(posts ? null : error, messages.posts.failedToast)

  if (isPending) {
    return (
      <div role="status" aria-label={copy.loading} className={`max-md:swipe-row ${GRID}`}>
        {Array.from({ length: SKELETONS.posts }, (_, index) => (
          <PostSkeleton key={index} />
        ))}
      </div>
    )
  }
  if (!posts) return <Failure message={messages.posts.failed} retryLabel={copy.retry} />
  if (posts.length === 0) return <p className="text-lead">{copy.empty}</p>
  return (
    <SwipeRow label={copy.list} className={GRID}>
      {posts.map((post) => (
        <li key={post.id}>
          <Reveal>
            <PostCard {...post} />
          </Reveal>
        </li>
      ))}
    </SwipeRow>
  )
}

function PostSkeleton() {
  return (
    <div>
      <Skeleton className="aspect-video" />
      <Skeleton className="mt-5 h-4 w-24" />
      <Skeleton className="mt-3 h-8 w-4/5" />
      <Skeleton className="mt-4 h-24" />
    </div>
  )
}
