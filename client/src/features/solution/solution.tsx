import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { cn } from '@/lib/cn'
import { SwipeRow } from '@/components/layout/swipe-row'
import { SECTION } from '@/lib/sections'

import { ContentEngine } from './content-engine'
import { copy } from './copy'
import { Framework } from './framework'
import { Tour } from './tour/tour'

/** The looks of the four steps: each is brighter than the last, and higher, or wider where they lie on each other. */
const STEPS = [
  'bg-pitch-mid max-md:min-h-40 md:w-[79%] lg:min-h-64',
  'bg-pitch max-md:min-h-44 md:w-[86%] lg:min-h-80',
  'bg-mist max-md:min-h-48 md:w-[93%] text-ink lg:min-h-96',
  'bg-floodlight max-md:min-h-52 md:w-full text-ink lg:min-h-112',
]

/** Shows what Terrace does about it: four benefits as rising steps, the framework behind them, the engine. */
export function Solution() {
  return (
    <Section id={SECTION.solution} tone="pitch-deep">
      <div className="container-page">
        <SectionHeading section={SECTION.solution} title={copy.title} lead={copy.lead} split />
        <SwipeRow
          label={copy.title}
          isOrdered
          className="mt-4 items-end [--swipe-card:76%] [--swipe-gap:0px] md:mt-14 md:flex md:flex-col lg:mt-10 lg:grid lg:grid-cols-4"
        >
          {copy.benefits.map(({ title, text }, index) => (
            <li key={title} className={cn('flex lg:w-auto lg:self-end', STEPS[index])}>
              <Reveal delayMs={index * 90} className="p-5 sm:p-7 lg:p-8">
                <h3 className="text-heading">{title}</h3>
                <p className="mt-1.5 max-w-[36ch] max-sm:text-small sm:mt-4">{text}</p>
              </Reveal>
            </li>
          ))}
        </SwipeRow>
      </div>
      <Tour />
      <Framework />
      <ContentEngine />
    </Section>
  )
}
