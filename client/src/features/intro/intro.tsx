import { DotMatrix } from '@/components/layout/dot-matrix'
import { Reveal } from '@/components/layout/reveal'
import { headingId } from '@/components/layout/section'

import { copy } from './copy'

const SECTION_ID = 'intro'

/** Shows why a club needs an app of its own, and the deal in four figures on a scoreboard. */
export function Intro() {
  return (
    <section
      id={SECTION_ID}
      aria-labelledby={headingId(SECTION_ID)}
      className="bg-paper section-space"
    >
      <div className="container-page">
        <Reveal className="grid gap-x-16 gap-y-5 lg:grid-cols-12">
          <h2
            id={headingId(SECTION_ID)}
            className="max-w-[22ch] text-title md:text-hero lg:col-span-12"
          >
            {copy.title}
          </h2>
          <div className="flex flex-col gap-3 text-lead sm:gap-5 lg:col-span-6 lg:col-start-7 lg:pt-3">
            {copy.body.map((paragraph) => (
              <p key={paragraph}>{paragraph}</p>
            ))}
          </div>
        </Reveal>
        <Reveal className="mt-6 md:mt-16 lg:mt-24">
          <h3 className="sr-only">{copy.dealTitle}</h3>
          <dl className="grid overflow-hidden rounded-lg bg-ink text-chalk sm:grid-cols-2 xl:grid-cols-4">
            {copy.deal.map(({ board, term, detail }) => (
              <div
                key={term}
                className="-mt-px -ml-px grid grid-cols-[4.75rem_1fr] gap-x-5 border-t border-l border-line-dark px-4 py-2.5 sm:flex sm:flex-col sm:p-7 lg:p-9"
              >
                <dt className="contents sm:flex sm:flex-col sm:gap-5">
                  <DotMatrix
                    text={board}
                    className="row-span-2 h-[1.375rem] self-center sm:h-14 sm:self-start lg:h-16"
                  />
                  <span className="font-display text-subheading font-semibold">
                    <span className="sr-only">{board === '∞' ? 'Uncapped ' : `${board} `}</span>
                    {term}
                  </span>
                </dt>
                <dd className="max-w-[30ch] text-small text-haze max-sm:col-start-2 sm:mt-2">
                  {detail}
                </dd>
              </div>
            ))}
          </dl>
        </Reveal>
      </div>
    </section>
  )
}
