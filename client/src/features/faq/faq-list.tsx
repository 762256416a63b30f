import { useLayoutEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'

import { Accordion } from '@/components/ui/accordion'
import { Button } from '@/components/ui/button'
import { cn } from '@/lib/cn'

import { copy } from './copy'
import type { FaqEntry } from './queries'

interface FaqListProps {
  faqs: readonly FaqEntry[]
  onLabelClick: (label: string) => void
}

/** How many questions phones show at first. */
const FIRST = 8

/** The look of questions that phones do not show yet. They have the attribute `hidden`, which wider screens ignore. */
const LATER = 'max-md:border-0 md:block md:[content-visibility:visible]'

/**
 * Hides the questions after the first ones from phones, so that find-in-page and links to a text still find them; what is
 * found is shown. React has no such attribute.
 */
function hideUntilFound(list: HTMLElement, onFound: () => void) {
  const questions = [...list.querySelectorAll(`:scope > div > :nth-child(n + ${FIRST + 1})`)]
  for (const question of questions) {
    question.setAttribute('hidden', 'until-found')
    question.addEventListener('beforematch', onFound)
  }
  return () => {
    for (const question of questions) {
      question.removeAttribute('hidden')
      question.removeEventListener('beforematch', onFound)
    }
  }
}

/**
 * Questions that open one at a time; the labels below an answer choose their topic. Phones show the first ones, and the
 * others after a tap or once they are found; all of them are in the document.
 */
export function FaqList({ faqs, onLabelClick }: FaqListProps) {
  const [isWhole, setIsWhole] = useState(false)
  const listRef = useRef<HTMLDivElement>(null)
  const hasMore = !isWhole && faqs.length > FIRST

  useLayoutEffect(() => {
    if (hasMore && listRef.current) return hideUntilFound(listRef.current, () => setIsWhole(true))
  }, [hasMore, faqs])

  const showAll = () => {
    flushSync(() => setIsWhole(true))
    // The button is gone; the keyboard goes on with the first question that it has shown.
    listRef.current?.querySelectorAll<HTMLElement>('h3 > button').item(FIRST).focus()
  }
  return (
    <div ref={listRef}>
      <Questions faqs={faqs} onLabelClick={onLabelClick} isWhole={!hasMore} />
      {hasMore && (
        <Button variant="outline" onClick={showAll} className="mt-4 w-full md:hidden">
          {copy.more(faqs.length)}
        </Button>
      )}
    </div>
  )
}

interface QuestionsProps extends FaqListProps {
  /** Whether phones show all of them. */
  isWhole: boolean
}

function Questions({ faqs, onLabelClick, isWhole }: QuestionsProps) {
  return (
    <Accordion
      items={faqs.map((faq, index) => ({
        id: faq.id,
        title: faq.question,
        content: <Answer {...faq} onLabelClick={onLabelClick} />,
        className: cn(!isWhole && index >= FIRST && LATER),
      }))}
    />
  )
}

type AnswerProps = Pick<FaqEntry, 'answer' | 'labels'> & Pick<FaqListProps, 'onLabelClick'>

function Answer({ answer, labels, onLabelClick }: AnswerProps) {
  return (
    <>
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
    </>
  )
}
