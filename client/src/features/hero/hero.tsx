import ArrowDown from 'lucide-react/icons/arrow-down'
import { useState } from 'react'

import { Phone } from '@/components/demo/phone'
import { SectionLink } from '@/components/layout/section-link'
import { StepEdge } from '@/components/layout/step-edge'
import { buttonClass } from '@/components/ui/button-class'
import { SECTION } from '@/lib/sections'
import { usePrefersReducedMotion } from '@/lib/browser/use-media-query'

import { copy } from './copy'
import { Stand } from './stand'
import { TypewriterHeadline } from './typewriter-headline'

/** Shows the first screen: Terrace in one sentence, and the app in a phone. */
export function Hero() {
  const isStill = usePrefersReducedMotion()
  const [isPaused, setIsPaused] = useState(isStill)

  return (
    <section
      id="hero"
      aria-label={copy.eyebrow}
      className="relative isolate overflow-hidden bg-ink pt-20 pb-12 text-chalk md:pt-22 md:pb-24 lg:pt-32 lg:pb-36"
    >
      <Stand className="absolute right-0 bottom-0 -z-10 h-[58%] w-full md:h-full md:w-[46%] lg:w-[64%]" />
      <div className="container-page grid items-center gap-x-10 gap-y-7 md:grid-cols-[minmax(0,1fr)_auto] lg:gap-x-20">
        <div className="flex flex-col items-start">
          <p className="mb-3 eyebrow text-floodlight md:mb-6">{copy.eyebrow}</p>
          <TypewriterHeadline isPaused={isPaused} />
          {/* On wide screens the button stands beside the text: below it, the cookie banner would lie on it. */}
          <div className="mt-4 flex flex-col items-start gap-6 md:mt-5 lg:mt-7 lg:flex-row lg:items-end lg:gap-10">
            <p className="max-w-[38ch] text-lead text-chalk/90">{copy.intro}</p>
            <SectionLink
              section={SECTION.problem}
              className={buttonClass({
                variant: 'floodlight',
                size: 'large',
                className: 'shrink-0',
              })}
            >
              {copy.discover}
              <ArrowDown aria-hidden className="size-5" />
            </SectionLink>
          </div>
        </div>
        <Phone isPaused={isPaused} onPausedChange={setIsPaused} />
      </div>
      <StepEdge steps={6} direction="up" className="h-[clamp(1.5rem,5vw,5rem)] text-paper" />
    </section>
  )
}
