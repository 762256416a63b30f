import Download from 'lucide-react/icons/download'
import { useState } from 'react'

import { ChoiceGroup } from '@/components/ui/choice-group'
import { Crest } from '@/components/vignette/crest'
import { Vignette } from '@/components/vignette/vignette'
import { formatNumber, formatPounds } from '@/lib/numbers'

import { copy } from './copy'
import { FANS, MONTHLY_GUARANTEE, SHARES, type Season } from './seasons'

const { dashboard } = copy

/** The largest payment of a month, in pounds, which fills the chart's height. */
const TOP = MONTHLY_GUARANTEE + Math.max(...Object.values(SHARES).flat())

/** Shows what a club receives in a season, which the visitor can choose. */
export function Dashboard() {
  const [season, setSeason] = useState<Season>('middle')
  const chosen = dashboard.seasons.find(({ id }) => id === season)
  const shares = SHARES[season]
  const total = shares.reduce((sum, share) => sum + share, 0)
  const figures = [
    { term: dashboard.guarantee, value: formatPounds(MONTHLY_GUARANTEE * shares.length) },
    { term: dashboard.share, value: formatPounds(total) },
    { term: dashboard.fans, value: formatNumber(FANS[season]) },
  ]
  return (
    <Vignette title={dashboard.title} text={dashboard.text} className="bg-mist">
      <div
        data-colours="harbour"
        className="m-3 flex grow flex-col gap-4 rounded-md bg-chalk p-4 ring-1 ring-line sm:m-6 sm:p-6"
      >
        <div className="flex flex-wrap items-center justify-between gap-3">
          <span className="flex items-center gap-2.5 font-display text-subheading font-semibold">
            <Crest emblem="lantern" className="h-8" />
            {dashboard.club}
          </span>
          <div className="min-w-0 [--page-edge:0px]">
            <ChoiceGroup
              label={dashboard.seasonLabel}
              choices={dashboard.seasons.map(({ label }) => label)}
              value={chosen?.label ?? ''}
              onChange={(label) =>
                setSeason(dashboard.seasons.find((one) => one.label === label)?.id ?? season)
              }
            />
          </div>
        </div>
        <dl
          aria-live="polite"
          className="flex items-end justify-between gap-3 sm:grid sm:grid-cols-3"
        >
          {figures.map(({ term, value }) => (
            <div key={term}>
              <dt className="text-label text-stone">{term}</dt>
              <dd className="font-display text-body font-bold tabular-nums sm:text-heading">
                {value}
              </dd>
            </div>
          ))}
        </dl>
        <Chart shares={shares} />
        <p className="flex items-center gap-2 text-label font-semibold text-pitch">
          <Download aria-hidden className="size-4" />
          {dashboard.export}
        </p>
      </div>
    </Vignette>
  )
}

/** Shows each month's guarantee, and its share on top. Decorative: the sums stand above it. */
function Chart({ shares }: { shares: readonly number[] }) {
  const base = (MONTHLY_GUARANTEE / TOP) * 100
  return (
    <div aria-hidden className="flex grow flex-col gap-3">
      <div className="grid h-28 grow grid-cols-10 gap-1 sm:h-44 sm:gap-2.5">
        {shares.map((share, month) => (
          <div key={month} className="relative">
            <span
              style={{ height: `${base}%`, animationDelay: `${month * 60}ms` }}
              className="absolute inset-x-0 bottom-0 origin-bottom animate-vignette-grow-y bg-pitch"
            />
            <span
              style={{ bottom: `${base}%`, height: `${100 - base}%` }}
              className="absolute inset-x-0 overflow-hidden pb-0.5"
            >
              <span
                style={{
                  transform: `scaleY(${share / (TOP - MONTHLY_GUARANTEE)})`,
                  animationDelay: `${600 + month * 60}ms`,
                }}
                className="block h-full origin-bottom animate-vignette-grow-y bg-harbour-coral transition-transform duration-500 ease-out"
              />
            </span>
          </div>
        ))}
      </div>
      <div className="grid grid-cols-10 gap-1 text-center text-label text-stone sm:gap-2.5">
        {dashboard.months.map((month) => (
          <span key={month}>
            {month[0]}
            <span className="max-sm:hidden">{month.slice(1)}</span>
          </span>
        ))}
      </div>
      <div className="flex gap-5 text-label">
        <span className="flex items-center gap-2">
          <span className="size-3 bg-pitch" />
          {dashboard.guarantee}
        </span>
        <span className="flex items-center gap-2">
          <span className="size-3 bg-harbour-coral" />
          {dashboard.share}
        </span>
      </div>
    </div>
  )
}
