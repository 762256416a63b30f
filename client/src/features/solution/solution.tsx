import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { cn } from '@/lib/cn'
import { SECTION } from '@/lib/sections'

import { ContentEngine } from './content-engine'
import { copy } from './copy'
import { Framework } from './framework'

/** The looks of the four steps: wider on phones, higher on wide screens, each brighter than the last. */
const STEPS = [
  'w-[79%] bg-pitch-mid lg:min-h-64',
  'w-[86%] bg-pitch lg:min-h-80',
  'w-[93%] bg-mist text-ink lg:min-h-96',
  'w-full bg-floodlight text-ink lg:min-h-112',
]

/** Shows what Terrace does about it: four benefits as rising steps, the framework behind them, the engine. */
export function Solution() {
  return (
    <Section id={SECTION.solution} tone="pitch-deep">
      <div className="container-page">
        <SectionHeading section={SECTION.solution} title={copy.title} lead={copy.lead} split />
        <ol className="mt-14 flex flex-col items-end lg:mt-10 lg:grid lg:grid-cols-4">
          {copy.benefits.map(({ title, text }, index) => (
            <li key={title} className={cn('flex lg:w-auto lg:self-end', STEPS[index])}>
              <Reveal delayMs={index * 90} className="p-7 lg:p-8">
                <h3 className="text-heading">{title}</h3>
                <p className="mt-4 max-w-[36ch]">{text}</p>
              </Reveal>
            </li>
          ))}
        </ol>
      </div>
      <Framework />
      <ContentEngine />
    </Section>
  )
}
