import { memo, useDeferredValue, useState } from 'react'

import { Section } from '@/components/layout/section'
import { SectionHeading } from '@/components/layout/section-heading'
import { ChoiceGroup } from '@/components/ui/choice-group'
import { Failure } from '@/components/ui/failure'
import { Spinner } from '@/components/ui/spinner'
import { messages } from '@/lib/notices/messages'
import { SECTION } from '@/lib/sections'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'
import { FaqList } from './faq-list'
import { ALL, filterFaqs, FILTERS, type Filter } from './filter'
import { useFaqs } from './queries'

/** Questions and answers, with the topics to choose from beside them. */
export function Faq() {
  const [filter, setFilter] = useState<Filter>(ALL)
  // The button changes at once; the list, which takes longer to render, follows.
  const deferredFilter = useDeferredValue(filter)

  return (
    <Section id={SECTION.faq} tone="mist">
      <div className="container-page grid grid-cols-[minmax(0,1fr)] gap-x-20 gap-y-5 md:gap-y-12 lg:grid-cols-[minmax(0,5fr)_minmax(0,7fr)]">
        <div className="flex flex-col gap-5 md:gap-8 lg:sticky lg:top-28 lg:self-start">
          <SectionHeading section={SECTION.faq} title={copy.title} lead={copy.lead} scale="quiet" />
          <ChoiceGroup<Filter>
            label={copy.filterLabel}
            choices={FILTERS}
            value={filter}
            onChange={setFilter}
          />
        </div>
        <Questions filter={deferredFilter} onFilter={setFilter} />
      </div>
    </Section>
  )
}

interface QuestionsProps {
  filter: Filter
  onFilter: (filter: Filter) => void
}

const Questions = memo(function Questions({ filter, onFilter }: QuestionsProps) {
  const { data: faqs, error, isPending } = useFaqs()
  useErrorToast(faqs ? null : error, messages.faqs.failedToast)

  if (isPending) return <Spinner label={copy.loading} />
  if (!faqs) return <Failure message={messages.faqs.failed} retryLabel={copy.retry} />
  if (faqs.length === 0) return <p className="text-lead">{copy.empty}</p>

  const matches = filterFaqs(faqs, filter)
  return (
    <div aria-live="polite">
      {matches.length === 0 ? (
        <p className="text-lead">{copy.noMatch(filter)}</p>
      ) : (
        <FaqList faqs={matches} onLabelClick={onFilter} />
      )}
    </div>
  )
})
