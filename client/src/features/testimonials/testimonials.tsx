import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { Skeleton } from '@/components/ui/skeleton'
import { SKELETONS, TESTIMONIAL_STAGGER_MS } from '@/lib/constants'
import { messages } from '@/lib/notices/messages'
import { SECTION } from '@/lib/sections'
import { useTestimonials } from '@/lib/content/testimonials'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'
import { TestimonialCard } from './testimonial-card'

/** Quotes of experts, in two columns of tickets. */
export function Testimonials() {
  return (
    <Section id={SECTION.testimonials} tone="paper">
      <div className="container-page">
        <SectionHeading section={SECTION.testimonials} title={copy.title} lead={copy.lead} split />
        <div className="mt-14 lg:mt-20">
          <ExpertGrid />
        </div>
      </div>
    </Section>
  )
}

const { failed } = messages.testimonials

const GRID = 'grid gap-5 md:grid-cols-2 lg:gap-7'

function ExpertGrid() {
  const { data: experts, error, isPending } = useTestimonials('home')

  useErrorToast(experts ? null : error, failed.title, failed.description)

  if (isPending) {
    return (
      <div role="status" aria-label={copy.loading} className={GRID}>
        {Array.from({ length: SKELETONS.testimonials }, (_, index) => (
          <Skeleton key={index} className="h-80" />
        ))}
      </div>
    )
  }
  if (!experts || experts.length === 0) return <p className="text-lead">{copy.empty}</p>
  return (
    <ul className={GRID}>
      {experts.map((expert, index) => (
        <li key={expert.id}>
          <Reveal delayMs={index * TESTIMONIAL_STAGGER_MS} className="h-full">
            <TestimonialCard {...expert} />
          </Reveal>
        </li>
      ))}
    </ul>
  )
}
