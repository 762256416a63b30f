import { DotMatrix } from '@/components/layout/dot-matrix'
import { Reveal } from '@/components/layout/reveal'
import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { SectionLink } from '@/components/layout/section-link'
import { Button } from '@/components/ui/button'
import { SECTION } from '@/lib/sections'

import { copy } from './copy'

/** Why waiting costs, under the board that shows the added time. */
export function Urgency() {
  return (
    <Section id={SECTION.urgent} tone="flare">
      <div className="container-page grid gap-x-20 gap-y-14 lg:grid-cols-[minmax(0,5fr)_minmax(0,6fr)] lg:items-center">
        <Reveal className="mx-auto w-full max-w-md lg:max-w-none">
          <Board />
        </Reveal>
        <div>
          <SectionHeading section={SECTION.urgent} title={copy.title} lead={copy.lead} />
          <ul className="mt-10 flex flex-col gap-7">
            {copy.reasons.map(({ title, text }) => (
              <li key={title} className="border-l-4 border-ink pl-6">
                <h3 className="text-subheading">{title}</h3>
                <p className="mt-1.5 max-w-[50ch]">{text}</p>
              </li>
            ))}
          </ul>
          <Button asChild variant="ink" size="large" className="mt-12">
            <SectionLink section={SECTION.contact}>{copy.action}</SectionLink>
          </Button>
        </div>
      </div>
    </Section>
  )
}

/** The fourth official's board, held up at arm's length. */
function Board() {
  return (
    <div aria-hidden className="flex flex-col items-center">
      <div className="w-full rounded-lg bg-ink p-6 sm:p-10">
        <DotMatrix text={copy.board} className="h-auto w-full" />
      </div>
      <div className="flex w-1/2 justify-between">
        <span className="h-24 w-6 -skew-x-6 bg-ink lg:h-40" />
        <span className="h-24 w-6 skew-x-6 bg-ink lg:h-40" />
      </div>
    </div>
  )
}
