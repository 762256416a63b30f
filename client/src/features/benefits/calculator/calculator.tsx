import { useState } from 'react'

import { DotMatrix } from '@/components/layout/dot-matrix'
import { SectionLink } from '@/components/layout/section-link'
import { buttonClass } from '@/components/ui/button-class'
import { suggestMessage } from '@/lib/forms/suggested-message'
import { formatNumber, formatPounds } from '@/lib/numbers'
import { SECTION } from '@/lib/sections'

import { copy } from './copy'
import { incomeOf, shareOf, type Assumptions } from './estimate'
import { Slider } from './slider'

const K = 1000

/** The values that each assumption can have. */
const STEPS = {
  fans: [5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1000].map((value) => value * K),
  revenue: [1, 2, 3, 4, 6, 8, 10, 12, 15, 18, 24, 30, 36],
  guarantee: [50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000].map((v) => v * K),
  share: [5, 10, 15, 20, 25, 30, 35, 40, 45, 50],
}

const FORMATS = {
  fans: formatNumber,
  revenue: formatPounds,
  guarantee: formatPounds,
  share: (value: number) => `${value}%`,
}

const ASSUMPTIONS = ['fans', 'revenue', 'guarantee', 'share'] as const

/** Shows what a club would receive under assumptions that the visitor chooses, and takes them to the contact form. */
export function Calculator() {
  const [assumptions, setAssumptions] = useState<Assumptions>({
    fans: 50 * K,
    revenue: 12,
    guarantee: 250 * K,
    share: 20,
  })
  return (
    <div className="grid overflow-hidden rounded-lg bg-ink text-chalk max-md:grid-rows-[1fr_auto] lg:grid-cols-2">
      <form
        aria-label={copy.form}
        onSubmit={(event) => event.preventDefault()}
        className="flex flex-col p-4 max-sm:pb-2 sm:gap-3 sm:p-9 lg:p-12"
      >
        <h3 className="text-heading">{copy.title}</h3>
        <p className="mt-1 mb-3 text-label text-haze sm:mt-0 sm:text-body">{copy.lead}</p>
        {ASSUMPTIONS.map((name) => (
          <Slider
            key={name}
            label={copy[name]}
            steps={STEPS[name]}
            value={assumptions[name]}
            format={FORMATS[name]}
            onChange={(value) => setAssumptions({ ...assumptions, [name]: value })}
          />
        ))}
      </form>
      <div className="flex flex-col gap-3 bg-ink-raised p-4 sm:gap-5 sm:p-9 lg:p-12">
        <Result assumptions={assumptions} />
        <Outcomes assumptions={assumptions} />
        <div className="mt-auto">
          <SectionLink
            section={SECTION.contact}
            onClick={() => suggestMessage(copy.message(assumptions))}
            className={buttonClass({
              variant: 'floodlight',
              size: 'large',
              className: 'max-sm:w-full',
            })}
          >
            {copy.action}
          </SectionLink>
          <p className="mt-2 text-label text-haze sm:mt-3">{copy.note}</p>
        </div>
      </div>
    </div>
  )
}

/** Shows the sum of a year that goes as planned on a scoreboard. */
function Result({ assumptions }: { assumptions: Assumptions }) {
  const sum = formatPounds(incomeOf(assumptions))
  return (
    <p role="status">
      <DotMatrix text={sum.padStart(10)} className="h-auto w-full" />
      <span className="sr-only">{sum} </span>
      <span className="mt-1 block text-label sm:mt-2 sm:text-body">{copy.result}</span>
    </p>
  )
}

/** Shows guarantee and share of a good, a bad and a lost year as bars of one scale. */
function Outcomes({ assumptions }: { assumptions: Assumptions }) {
  const most = incomeOf(assumptions)
  const width = (value: number) => ({ width: `${(value / most) * 100}%` })
  return (
    <div>
      <ul className="flex flex-col gap-1.5 sm:gap-3">
        {copy.outcomes.map(({ label, part }) => (
          <li key={label}>
            <span className="flex justify-between gap-4 text-label sm:text-small">
              {label}
              <span className="font-semibold tabular-nums">
                {formatPounds(incomeOf(assumptions, part))}
              </span>
            </span>
            <span aria-hidden className="mt-0.5 flex h-2 gap-0.5 sm:mt-1 sm:h-3">
              <span style={width(assumptions.guarantee)} className="bg-floodlight" />
              <span style={width(shareOf(assumptions, part))} className="bg-chalk/70" />
            </span>
          </li>
        ))}
      </ul>
      <p aria-hidden className="mt-2 flex gap-5 text-label sm:mt-3">
        <span className="flex items-center gap-2">
          <span className="size-3 bg-floodlight" />
          {copy.legend.guarantee}
        </span>
        <span className="flex items-center gap-2">
          <span className="size-3 bg-chalk/70" />
          {copy.legend.share}
        </span>
      </p>
    </div>
  )
}
