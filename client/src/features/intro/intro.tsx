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
        <Reveal className="grid gap-x-16 gap-y-8 lg:grid-cols-12">
          <h2 id={headingId(SECTION_ID)} className="text-title lg:col-span-7">
            {copy.title}
          </h2>
          <div className="flex flex-col gap-5 text-lead lg:col-span-5 lg:pt-3">
            {copy.body.map((paragraph) => (
              <p key={paragraph}>{paragraph}</p>
            ))}
          </div>
        </Reveal>
        <Reveal className="mt-16 lg:mt-24">
          <h3 className="sr-only">{copy.dealTitle}</h3>
          <dl className="grid grid-cols-2 overflow-hidden rounded-lg bg-ink text-chalk xl:grid-cols-4">
            {copy.deal.map(({ board, term, detail }) => (
              <div
                key={term}
                className="-mt-px -ml-px flex flex-col border-t border-l border-line-dark p-5 sm:p-7 lg:p-9"
              >
                <dt className="flex flex-col gap-5">
                  <DotMatrix text={board} className="h-8 self-start sm:h-14 lg:h-16" />
                  <span className="font-display text-subheading font-semibold">
                    <span className="sr-only">{board === '∞' ? 'Uncapped ' : `${board} `}</span>
                    {term}
                  </span>
                </dt>
                <dd className="mt-2 max-w-[30ch] text-small text-haze">{detail}</dd>
              </div>
            ))}
          </dl>
        </Reveal>
      </div>
    </section>
  )
}
