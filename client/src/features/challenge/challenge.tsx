import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { StepEdge } from '@/components/layout/step-edge'
import { SwipeRow } from '@/components/layout/swipe-row'
import { SECTION } from '@/lib/sections'

import { copy } from './copy'
import { diagrams } from './diagrams'

/** The vertical offset of each problem, so that the three of them form a descending stair. */
const DESCENT = ['', 'lg:mt-20', 'lg:mt-40']

/** Shows the three problems of clubs in other people's feeds, one step lower each. */
export function Challenge() {
  return (
    <Section id={SECTION.problem} tone="mist" className="pb-[clamp(5.5rem,3rem+10vw,16rem)]">
      <div className="container-page">
        <SectionHeading section={SECTION.problem} title={copy.title} lead={copy.lead} split />
        <SwipeRow
          label={copy.title}
          isOrdered
          className="mt-4 md:mt-14 md:grid md:gap-x-10 md:gap-y-14 lg:mt-20 lg:grid-cols-3"
        >
          {copy.problems.map(({ title, text }, index) => {
            const Picture = diagrams[index]
            return (
              <li key={title} className={DESCENT[index]}>
                <Reveal
                  delayMs={index * 120}
                  className="grid grid-cols-[4.5rem_minmax(0,1fr)] items-center gap-x-4 gap-y-3 border-t-4 border-ink pt-4 sm:grid-cols-[minmax(0,2fr)_minmax(0,3fr)] sm:gap-x-12 sm:gap-y-8 sm:pt-7 lg:grid-cols-1"
                >
                  {Picture && <Picture />}
                  <div className="max-sm:contents">
                    <h3 className="text-heading">{title}</h3>
                    <p className="max-w-[42ch] max-sm:col-span-2 max-sm:text-small sm:mt-3">
                      {text}
                    </p>
                  </div>
                </Reveal>
              </li>
            )
          })}
        </SwipeRow>
      </div>
      <StepEdge steps={4} direction="down" className="h-[clamp(2.5rem,7vw,7rem)] text-pitch-deep" />
    </Section>
  )
}
