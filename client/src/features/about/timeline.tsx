import ChevronDown from 'lucide-react/icons/chevron-down'
import { useId, useState } from 'react'

import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { Skeleton } from '@/components/ui/skeleton'
import { cn } from '@/lib/cn'
import { SKELETONS, TIMELINE_STAGGER_MS } from '@/lib/constants'
import { laidOutLater } from '@/lib/loading/later-layout'
import { messages } from '@/lib/notices/messages'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'
import { isAhead } from './period'
import { useTimeline, type TimelineEvent } from './queries'

/** The colours of the stations, taken in turn. */
const PALETTE = [
  { badge: 'bg-pitch text-chalk', edge: 'border-pitch', dot: 'bg-pitch' },
  { badge: 'bg-ink text-floodlight', edge: 'border-ink', dot: 'bg-ink' },
  { badge: 'bg-flare text-ink', edge: 'border-flare', dot: 'bg-flare' },
  { badge: 'bg-harbour-navy text-chalk', edge: 'border-harbour-navy', dot: 'bg-harbour-navy' },
  { badge: 'bg-floodlight text-ink', edge: 'border-floodlight', dot: 'bg-floodlight' },
] as const

/** Over the line of what has been: a dashed one. */
const AHEAD_LINE =
  'before:absolute before:inset-y-0 before:left-[0.4375rem] before:border-l-2 before:border-dashed before:border-stone before:bg-mist'

/** Shows the company's journey: cards to the left and right of a line, top to bottom. */
export function Timeline() {
  const { data: events, error, isPending } = useTimeline()
  const { failed } = messages.timeline
  useErrorToast(events ? null : error, failed.title, failed.description)

  return (
    <Section id="journey" tone="mist">
      <div className="container-page">
        <SectionHeading section="journey" title={copy.journeyTitle} lead={copy.journeyLead} split />
        <div className="mt-8 md:mt-14 lg:mt-20">
          {isPending && <TimelineSkeleton />}
          {!isPending && !events?.length && <p className="text-lead">{copy.journeyEmpty}</p>}
          {events && events.length > 0 && (
            <ol
              {...laidOutLater}
              className="relative flex flex-col gap-4 before:absolute before:inset-y-2 before:left-[0.4375rem] before:w-0.5 before:bg-ink/25 md:gap-0 md:before:left-1/2 md:before:-ml-px"
            >
              {events.map((event, index) => (
                <Station key={event.id} event={event} index={index} />
              ))}
            </ol>
          )}
        </div>
      </div>
    </Section>
  )
}

function TimelineSkeleton() {
  return (
    <div role="status" aria-label={copy.journeyLoading} className="flex flex-col gap-8 md:gap-4">
      {Array.from({ length: SKELETONS.timeline }, (_, index) => (
        <Skeleton
          key={index}
          className={cn(
            'ml-8 h-36 md:ml-0 md:w-[calc(50%-3rem)]',
            index % 2 === 1 && 'md:self-end',
          )}
        />
      ))}
    </div>
  )
}

function Station({ event, index }: { event: TimelineEvent; index: number }) {
  const colours = PALETTE[index % PALETTE.length] ?? PALETTE[0]
  const isOnRight = index % 2 === 1
  const isComing = isAhead(event.period, new Date())
  return (
    <li
      className={cn(
        'relative pl-10 md:w-1/2 md:pl-0',
        isOnRight ? 'md:ml-auto md:pl-12' : 'md:pr-12',
        isComing && AHEAD_LINE,
        isComing && (isOnRight ? 'md:before:-left-px' : 'md:before:-right-px md:before:left-auto'),
        index > 0 && 'md:-mt-6',
      )}
    >
      <span
        aria-hidden
        className={cn(
          'absolute top-7 left-0 z-1 size-4 rounded-full ring-4 ring-mist',
          isOnRight ? 'md:-left-2' : 'md:right-[-0.5rem] md:left-auto',
          isComing ? cn('border-3 bg-mist', colours.edge) : colours.dot,
        )}
      >
        {isComing && (
          <span
            className={cn(
              'absolute inset-0 animate-pulse-ring rounded-full motion-reduce:hidden',
              colours.dot,
            )}
          />
        )}
      </span>
      <Reveal delayMs={index * TIMELINE_STAGGER_MS}>
        <StationCard event={event} colours={colours} isAhead={isComing} />
      </Reveal>
    </li>
  )
}

interface StationCardProps {
  event: TimelineEvent
  colours: (typeof PALETTE)[number]
  isAhead: boolean
}

function StationCard({ event, colours, isAhead: isComing }: StationCardProps) {
  const [isExpanded, setIsExpanded] = useState(false)
  const id = useId()
  return (
    <article
      className={cn(
        'rounded-r-md border-l-4 p-5 sm:p-7',
        colours.edge,
        isComing ? 'outline-2 -outline-offset-2 outline-stone/45 outline-dashed' : 'bg-chalk',
      )}
    >
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <p
          className={cn(
            'rounded-sm px-3 py-1 font-display text-small font-bold tabular-nums',
            colours.badge,
          )}
        >
          {event.period}
          {isComing && <span className="sr-only">, {copy.ahead}</span>}
        </p>
        {isComing && (
          <span aria-hidden className="text-small font-semibold text-stone">
            {copy.ahead}
          </span>
        )}
      </div>
      <h3 className="mt-3 text-subheading sm:mt-4">{event.title}</h3>
      {/* The first line is seen; the rest is behind the button. */}
      <p
        id={id}
        inert={!isExpanded}
        className={cn('mt-2 text-small text-stone', !isExpanded && 'line-clamp-1')}
      >
        {event.description}
      </p>
      <button
        type="button"
        aria-expanded={isExpanded}
        aria-controls={id}
        aria-label={`${isExpanded ? copy.collapse : copy.expand}: ${event.title}`}
        onClick={() => setIsExpanded(!isExpanded)}
        className="mt-1 -ml-2 inline-flex min-h-11 items-center gap-1.5 rounded-sm px-2 text-small font-semibold text-pitch hover:text-ink"
      >
        {isExpanded ? copy.collapse : copy.expand}
        <ChevronDown
          aria-hidden
          className={cn('size-4 transition-transform duration-300', isExpanded && 'rotate-180')}
        />
      </button>
    </article>
  )
}
