import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { SwipeRow } from '@/components/layout/swipe-row'
import { Skeleton } from '@/components/ui/skeleton'
import { SKELETONS, TESTIMONIAL_STAGGER_MS } from '@/lib/constants'
import { laidOutLater } from '@/lib/loading/later-layout'
import { messages } from '@/lib/notices/messages'
import { SECTION } from '@/lib/sections'
import { useTestimonials } from '@/lib/content/testimonials'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'
import { LeadCard } from './lead-card'
import { TestimonialCard } from './testimonial-card'

/** Quotes of experts, in two columns of tickets; the first one leads. */
export function Testimonials() {
  return (
    <Section id={SECTION.testimonials} tone="paper">
      <div className="container-page">
        <SectionHeading
          section={SECTION.testimonials}
          title={copy.title}
          lead={copy.lead}
          scale="quiet"
          split
        />
        <div {...laidOutLater} className="mt-5 md:mt-14 lg:mt-16">
          <ExpertGrid />
        </div>
      </div>
    </Section>
  )
}

const { failed } = messages.testimonials

const GRID = 'md:grid md:grid-cols-2 md:gap-5 lg:gap-7'

/** Returns how high the leading card is on wide screens: two rows or three, so that no place of the last row is empty. */
function leadRows(count: number) {
  if (count < 4) return undefined
  return count % 2 === 0 ? 'lg:row-span-3' : 'lg:row-span-2'
}

function ExpertGrid() {
  const { data: experts, error, isPending } = useTestimonials('home')

  useErrorToast(experts ? null : error, failed.title, failed.description)

  if (isPending) {
    return (
      <div role="status" aria-label={copy.loading} className={`max-md:swipe-row ${GRID}`}>
        {Array.from({ length: SKELETONS.testimonials }, (_, index) => (
          <Skeleton key={index} className="h-80" />
        ))}
      </div>
    )
  }
  if (!experts || experts.length === 0) return <p className="text-lead">{copy.empty}</p>
  return (
    <SwipeRow label={copy.list} className={GRID}>
      {experts.map((expert, index) => (
        <li key={expert.id} className={index === 0 ? leadRows(experts.length) : undefined}>
          <Reveal delayMs={index * TESTIMONIAL_STAGGER_MS} className="h-full">
            {index === 0 ? <LeadCard {...expert} /> : <TestimonialCard {...expert} />}
          </Reveal>
        </li>
      ))}
    </SwipeRow>
  )
}
