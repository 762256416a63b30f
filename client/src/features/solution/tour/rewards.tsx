import Check from 'lucide-react/icons/check'

import { Vignette } from '@/components/vignette/vignette'
import { formatNumber } from '@/lib/numbers'

import type { Club } from './club'
import { copy } from './copy'

const { rewards } = copy

/** Shows what points buy, and how far the balance reaches. */
export function Rewards({ club, balance }: { club: Club; balance: number }) {
  return (
    <Vignette title={rewards.title} text={rewards.text} className="bg-chalk text-ink">
      <ul
        aria-hidden
        className="flex grow flex-col justify-center gap-3.5 p-5 text-small max-md:gap-6 sm:p-6 md:justify-start"
      >
        {rewards.list.map(({ name, price }, index) => {
          const reach = Math.min(1, balance / price)
          return (
            <li key={name}>
              <span className="flex items-center justify-between gap-2 leading-tight font-semibold">
                {name}
                {reach === 1 && <Check className="size-4 shrink-0 text-pitch" />}
              </span>
              <span className="mt-1.5 flex items-center gap-2.5">
                <span className="h-2 grow overflow-hidden rounded-full bg-mist">
                  <span
                    style={{ width: `${reach * 100}%`, animationDelay: `${200 + index * 200}ms` }}
                    className="block h-full origin-left animate-vignette-grow-x rounded-full bg-(--club-deep) transition-[width,background-color]"
                  />
                </span>
                <span className="min-w-26 text-right text-label text-stone tabular-nums">
                  {formatNumber(price)} {club.points}
                </span>
              </span>
            </li>
          )
        })}
      </ul>
    </Vignette>
  )
}
