import { DotMatrix } from '@/components/layout/dot-matrix'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { SectionLink } from '@/components/layout/section-link'
import { SwipeRow } from '@/components/layout/swipe-row'
import { buttonClass } from '@/components/ui/button-class'
import { SECTION } from '@/lib/sections'

import { copy } from './copy'

/** Shows why waiting costs, under the board that shows the added time. */
export function Urgency() {
  return (
    <Section id={SECTION.urgent} tone="flare" className="overflow-hidden max-lg:pb-0">
      <div className="container-page grid grid-cols-[minmax(0,1fr)] gap-x-20 gap-y-6 md:gap-y-14 lg:grid-cols-[minmax(0,5fr)_minmax(0,6fr)]">
        <Board />
        <div className="max-lg:row-start-1">
          <SectionHeading
            section={SECTION.urgent}
            title={copy.title}
            lead={copy.lead}
            scale="loud"
          />
          <SwipeRow label={copy.title} className="mt-4 md:mt-10 md:flex md:flex-col md:gap-7">
            {copy.reasons.map(({ title, text }) => (
              <li key={title} className="border-l-4 border-ink pl-4 md:pl-6">
                <h3 className="text-subheading">{title}</h3>
                <p className="mt-1 max-w-[50ch] max-sm:text-small">{text}</p>
              </li>
            ))}
          </SwipeRow>
          <SectionLink
            section={SECTION.contact}
            className={buttonClass({ variant: 'ink', size: 'large', className: 'mt-6 md:mt-12' })}
          >
            {copy.action}
          </SectionLink>
        </div>
      </div>
    </Section>
  )
}

/** Shows the fourth official's board, held up from below the section's edge. */
function Board() {
  return (
    <div
      aria-hidden
      className="relative mx-auto w-full max-w-lg pb-6 max-sm:max-w-36 sm:pb-24 lg:pb-0"
    >
      <div className="absolute inset-x-[calc(50%-1.25rem)] top-1/3 bottom-0 bg-ink lg:-bottom-80" />
      <div className="relative rounded-lg bg-ink p-4 sm:p-10">
        <DotMatrix text={copy.board} className="h-auto w-full" />
        <div className="mt-5 flex h-3 gap-3 sm:mt-10">
          <span className="w-1/2 bg-pitch" />
          <span className="w-1/4 bg-floodlight" />
          <span className="w-1/4 bg-flare" />
        </div>
      </div>
    </div>
  )
}
