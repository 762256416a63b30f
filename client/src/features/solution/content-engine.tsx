import { Reveal } from '@/components/layout/reveal'
import { SectionLink } from '@/components/layout/section-link'
import { buttonClass } from '@/components/ui/button-class'
import { cn } from '@/lib/cn'
import { laidOutLater } from '@/lib/loading/later-layout'
import { SECTION } from '@/lib/sections'

import { copy } from './copy'

/** Where on the match clock the moments lie that the clips are cut from, in minutes. */
const MOMENTS = [12, 31, 57, 63, 88]
const MINUTES = 90

/** Shows how a match becomes clips for single fans. */
export function ContentEngine() {
  return (
    <div
      {...laidOutLater}
      className="container-page mt-10 grid gap-x-20 gap-y-6 md:mt-24 md:gap-y-14 lg:mt-36 lg:grid-cols-2 lg:items-center"
    >
      <Reveal>
        <h3 className="text-topic">{copy.engineTitle}</h3>
        <p className="mt-3 max-w-[46ch] text-lead text-chalk/90 md:mt-6">{copy.engineLead}</p>
        <dl className="mt-5 flex flex-col gap-4 md:mt-10 md:gap-7">
          {copy.engine.map(({ title, text }) => (
            <div key={title} className="border-l-4 border-floodlight pl-4 md:pl-6">
              <dt className="font-display text-subheading font-semibold">{title}</dt>
              <dd className="mt-1 max-w-[46ch] text-chalk/90 max-sm:text-small">{text}</dd>
            </div>
          ))}
        </dl>
        <SectionLink
          section={SECTION.contact}
          className={buttonClass({
            variant: 'floodlight',
            size: 'large',
            className: 'mt-6 md:mt-12',
          })}
        >
          {copy.action}
        </SectionLink>
      </Reveal>
      <Reveal delayMs={120}>
        <MatchClock />
        <ul aria-label={copy.clipsLabel} className="mt-4 grid grid-cols-3 gap-3 sm:mt-8 sm:gap-5">
          {copy.clips.map((clip, index) => (
            <Clip key={clip.minute} index={index} {...clip} />
          ))}
        </ul>
      </Reveal>
    </div>
  )
}

/** Returns the path of bars at `minutes` of the match clock. */
function bars(minutes: number[], width: number, boxOf: (minute: number) => [number, number]) {
  return minutes
    .map((minute) => {
      const [top, height] = boxOf(minute)
      return `M${(minute * 9.8).toFixed(1)} ${top}h${width}v${height}h-${width}z`
    })
    .join('')
}

const OTHERS = Array.from({ length: MINUTES + 1 }, (_, minute) => minute).filter(
  (minute) => !MOMENTS.includes(minute),
)
const PLAIN_BARS = bars(OTHERS, 3, (minute) => (minute % 15 === 0 ? [34, 50] : [50, 34]))
const LIT_BARS = bars(MOMENTS, 8, () => [0, 84])

/** Shows a match as a bar of minutes; the moments worth a clip are lit. */
function MatchClock() {
  return (
    <svg role="img" aria-label={copy.timelineLabel} viewBox="0 0 900 110" className="w-full">
      <path d={PLAIN_BARS} className="fill-chalk/40" />
      <path d={LIT_BARS} className="fill-floodlight" />
    </svg>
  )
}

interface ClipProps {
  index: number
  minute: string
  fan: string
  clip: string
}

const CLIP_COLOURS = [
  'bg-harbour-navy text-chalk',
  'bg-harbour-sand text-ink',
  'bg-harbour-coral text-ink',
]

/** Each clip stands one step higher than the one before. */
const CLIP_RISE = ['mt-4 sm:mt-16', 'my-2 sm:my-8', 'mb-4 sm:mb-16']

function Clip({ index, minute, fan, clip }: ClipProps) {
  return (
    <li
      className={cn(
        'relative flex aspect-[9/15] flex-col justify-between overflow-hidden rounded-md p-2.5 sm:aspect-[9/16] sm:p-5',
        CLIP_COLOURS[index],
        CLIP_RISE[index],
      )}
    >
      <svg
        aria-hidden
        viewBox="0 0 90 160"
        fill="none"
        className="absolute inset-0 size-full stroke-current opacity-25 max-sm:hidden"
      >
        <circle cx={index * 45} cy={84} r={34} strokeWidth={1.5} />
        <path d="M0 84H90" strokeWidth={1.5} />
      </svg>
      <span className="relative font-display text-heading font-bold">{minute}</span>
      <span className="relative flex flex-col gap-1">
        <span className="text-label leading-tight font-semibold">{fan}</span>
        <span className="font-display text-small leading-tight font-semibold sm:text-subheading sm:leading-tight">
          {clip}
        </span>
      </span>
    </li>
  )
}
