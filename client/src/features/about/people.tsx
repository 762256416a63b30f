import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { Portrait } from '@/components/ui/portrait'
import { Skeleton } from '@/components/ui/skeleton'
import { SKELETONS, TESTIMONIAL_STAGGER_MS } from '@/lib/constants'
import { laidOutLater } from '@/lib/loading/later-layout'
import { messages } from '@/lib/notices/messages'
import { usePreloadedImages } from '@/lib/browser/preload-images'
import { storedSquare } from '@/lib/supabase/storage-url'
import { useTestimonials, type Testimonial } from '@/lib/content/testimonials'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'

/** The name under which the about page's people are kept. */
const PAGE = 'about us'
const INVESTOR = 'Investor'
/** The side of a portrait, in CSS pixels. */
const PORTRAIT_SIZE = 128

/** Returns the people of this page: `isInvestor` decides which half. */
function usePeople(isInvestor: boolean) {
  const query = useTestimonials(PAGE)
  const people = query.data?.filter(({ role }) => (role === INVESTOR) === isInvestor) ?? []
  return { people, isPending: query.isPending, error: query.data ? null : query.error }
}

/** Shows the leaders of the company, in rows of a team sheet. */
export function Leadership() {
  const { people, isPending, error } = usePeople(false)
  useErrorToast(error, messages.testimonials.failed.title, messages.testimonials.failed.description)

  return (
    <PeopleSection
      people={people}
      isPending={isPending}
      section="leadership"
      title={copy.leadershipTitle}
      lead={copy.leadershipLead}
      skeletons={SKELETONS.leadership}
      loading={copy.leadershipLoading}
      empty={copy.leadershipEmpty}
    />
  )
}

/** Shows the investors. */
export function Investors() {
  const { people, isPending } = usePeople(true)

  return (
    <PeopleSection
      people={people}
      isPending={isPending}
      section="investors"
      title={copy.investorsTitle}
      lead={copy.investorsLead}
      skeletons={SKELETONS.investors}
      loading={copy.investorsLoading}
      empty={copy.investorsEmpty}
    />
  )
}

interface PeopleSectionProps extends PeopleGridProps {
  section: string
  title: string
  lead: string
}

function PeopleSection({ section, title, lead, ...grid }: PeopleSectionProps) {
  usePreloadedImages(pictures(grid.people))

  return (
    <Section id={section} tone="paper">
      <div className="container-page">
        <SectionHeading section={section} title={title} lead={lead} split />
        <div className="mt-8 md:mt-14 lg:mt-20">
          <PeopleGrid {...grid} />
        </div>
      </div>
    </Section>
  )
}

function pictures(people: readonly Testimonial[]) {
  return people.flatMap(({ image_path }) =>
    image_path ? [storedSquare(image_path, 'experts', PORTRAIT_SIZE)] : [],
  )
}

interface PeopleGridProps {
  people: readonly Testimonial[]
  isPending: boolean
  skeletons: number
  loading: string
  empty: string
}

const GRID =
  'grid gap-x-8 gap-y-10 sm:grid-cols-2 sm:gap-y-14 lg:grid-cols-3 lg:gap-x-10 lg:gap-y-20'

function PeopleGrid({ people, isPending, skeletons, loading, empty }: PeopleGridProps) {
  if (isPending) {
    return (
      <div role="status" aria-label={loading} className={GRID}>
        {Array.from({ length: skeletons }, (_, index) => (
          <Skeleton key={index} className="h-[34rem]" />
        ))}
      </div>
    )
  }
  if (people.length === 0) return <p className="text-lead">{empty}</p>
  return (
    <ul {...laidOutLater} className={GRID}>
      {people.map((person, index) => (
        <li key={person.id}>
          <Reveal delayMs={index * TESTIMONIAL_STAGGER_MS}>
            <Person {...person} />
          </Reveal>
        </li>
      ))}
    </ul>
  )
}

function Person({ name, role, quote, about, image_path }: Testimonial) {
  return (
    <figure className="flex flex-col">
      <figcaption className="flex items-end gap-5">
        <Portrait
          name={name}
          imagePath={image_path}
          size={PORTRAIT_SIZE}
          className="max-w-24 shrink-0 sm:max-w-32"
        />
        <span className="flex flex-col pb-1">
          <span className="font-display text-subheading leading-tight font-semibold">{name}</span>
          <span className="mt-1 text-small font-semibold text-pitch">{role}</span>
        </span>
      </figcaption>
      <blockquote className="mt-5 border-t-4 border-ink pt-4 font-display text-subheading font-medium">
        “{quote}”
      </blockquote>
      <p className="mt-4 text-small text-stone">{about}</p>
    </figure>
  )
}
