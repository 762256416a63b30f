import {
  Accordion,
  AccordionContent,
  AccordionItem,
  AccordionTrigger,
} from '@/components/ui/accordion'

import { copy } from './copy'
import type { FaqEntry } from './queries'

interface FaqListProps {
  faqs: readonly FaqEntry[]
  onLabelClick: (label: string) => void
}

/** Questions that open one at a time; the labels below an answer choose their topic. */
export function FaqList({ faqs, onLabelClick }: FaqListProps) {
  return (
    <Accordion type="single" collapsible>
      {faqs.map(({ id, question, answer, labels }) => (
        <AccordionItem key={id} value={id}>
          <AccordionTrigger>{question}</AccordionTrigger>
          <AccordionContent>
            <p className="whitespace-pre-line">{answer}</p>
            <ul className="mt-5 flex flex-wrap gap-2">
              {labels.map((label) => (
                <li key={label}>
                  <button
                    type="button"
                    aria-label={copy.filterBy(label)}
                    onClick={() => onLabelClick(label)}
                    className="min-h-8 rounded-sm bg-pitch px-3 text-label font-semibold text-chalk transition-colors hover:bg-ink"
                  >
                    {label}
                  </button>
                </li>
              ))}
            </ul>
          </AccordionContent>
        </AccordionItem>
      ))}
    </Accordion>
  )
}
