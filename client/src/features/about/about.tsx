import { useState } from 'react'

import { Phone } from '@/components/demo/phone'
import { Link } from '@/components/layout/link'
import { PageHero } from '@/components/layout/page-hero'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { StepEdge } from '@/components/layout/step-edge'
import { buttonClass } from '@/components/ui/button-class'
import { usePrefersReducedMotion } from '@/lib/browser/use-media-query'

import { copy } from './copy'
import { Investors, Leadership } from './people'
import { Timeline } from './timeline'

/** Shows who Terrace is: the product, its leaders, its journey, its backers. */
export function About() {
  return (
    <>
      <AboutHero />
      <Leadership />
      <Timeline />
      <Investors />
      <Section id="join" tone="pitch" className="pb-[clamp(6rem,3.6rem+10vw,16rem)]">
        <div className="container-page flex flex-col items-start gap-7 md:gap-10">
          <SectionHeading section="join" title={copy.joinTitle} lead={copy.joinLead} />
          <Link to="/careers" className={buttonClass({ variant: 'floodlight', size: 'large' })}>
            {copy.joinAction}
          </Link>
        </div>
        <StepEdge steps={5} direction="up" className="h-[clamp(2.5rem,7vw,7rem)] text-ink" />
      </Section>
    </>
  )
}

/** Shows the first screen: the product in a phone. */
export function AboutHero() {
  const isStill = usePrefersReducedMotion()
  const [isPaused, setIsPaused] = useState(isStill)
  return (
    <PageHero
      title={copy.title}
      lead={copy.lead}
      aside={<Phone isPaused={isPaused} onPausedChange={setIsPaused} />}
    />
  )
}
