import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { SECTION } from '@/lib/sections'

import { ApplicationForm } from './application-form'
import { copy } from './copy'
import type { RoleChoice } from './use-application-form'

/** Shows where people apply; `choice` is the position that they chose from the list. */
export function Application({ choice }: { choice: RoleChoice | undefined }) {
  return (
    <Section id={SECTION.application} tone="paper">
      <div className="container-page grid gap-x-16 gap-y-10 lg:grid-cols-[minmax(0,4fr)_minmax(0,6fr)]">
        <SectionHeading
          section={SECTION.application}
          title={copy.title}
          lead={copy.lead}
          className="self-start"
        />
        <div className="min-h-[50rem] sm:min-h-[42rem]">
          <ApplicationForm choice={choice} />
        </div>
      </div>
    </Section>
  )
}
