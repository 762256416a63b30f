import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { SwipeRow } from '@/components/layout/swipe-row'
import { laidOutLater } from '@/lib/loading/later-layout'
import { SECTION } from '@/lib/sections'

import { ClubSide } from './club-side/club-side'
import { ComparisonTable } from './comparison-table'
import { copy } from './copy'

/** Shows what a brand gains, as an index beside a heading that stays in view, and the comparison below. */
export function Benefits() {
  return (
    <Section id={SECTION.benefits} tone="chalk">
      <div className="container-page">
        <div className="grid gap-x-20 gap-y-6 md:gap-y-12 lg:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
          <SectionHeading
            section={SECTION.benefits}
            title={copy.title}
            lead={copy.lead}
            className="lg:sticky lg:top-28 lg:self-start"
          />
          <SwipeRow label={copy.title} isOrdered className="">
            {copy.benefits.map(({ title, text }, index) => (
              <li
                key={title}
                className="border-t-4 border-pitch md:border-t md:border-ink/20 md:last:border-b"
              >
                <Reveal className="grid grid-cols-[2.25rem_1fr] gap-y-1.5 pt-4 sm:grid-cols-[5.5rem_1fr] sm:gap-y-2 sm:py-8">
                  <span
                    aria-hidden
                    className="row-span-2 font-display text-title leading-none font-bold text-pitch tabular-nums"
                  >
                    {index + 1}
                  </span>
                  <h3 className="text-heading">{title}</h3>
                  <p className="max-w-[48ch] max-sm:text-small">{text}</p>
                </Reveal>
              </li>
            ))}
          </SwipeRow>
        </div>
        <div
          {...laidOutLater}
          className="mt-8 md:mt-10 md:grid md:gap-4 lg:mt-24 lg:grid-cols-[minmax(0,7fr)_minmax(0,5fr)]"
        >
          <ClubSide />
          <div {...laidOutLater} className="mt-8 md:order-2 md:mt-16 lg:col-span-2 lg:mt-28">
            <Reveal>
              <ComparisonTable />
            </Reveal>
          </div>
        </div>
      </div>
    </Section>
  )
}
