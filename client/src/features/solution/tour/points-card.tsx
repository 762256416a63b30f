import Nfc from 'lucide-react/icons/nfc'

import { Crest } from '@/components/vignette/crest'
import { Vignette } from '@/components/vignette/vignette'
import { formatNumber } from '@/lib/numbers'

import type { Club } from './club'
import { copy } from './copy'

const { card } = copy

/** Shows the club's payment card, and what a purchase with it earns. */
export function PointsCard({ club, balance }: { club: Club; balance: number }) {
  return (
    <Vignette title={card.title} text={card.text} className="bg-(--club-bright) text-ink">
      <div
        aria-hidden
        className="relative flex grow flex-col items-center px-5 pt-6 pb-5 max-md:justify-center sm:px-6"
      >
        <div className="flex aspect-[1.586] w-full max-w-64 -rotate-3 animate-vignette-deal flex-col justify-between overflow-hidden rounded-lg bg-(--club-deep) p-4 text-chalk shadow-float">
          <div className="flex items-center justify-between gap-2">
            <span className="flex min-w-0 items-center gap-2 font-display font-semibold">
              <Crest emblem={club.emblem} className="h-7 shrink-0" />
              <span className="truncate text-small">{club.name}</span>
            </span>
            <Nfc className="size-5 shrink-0" />
          </div>
          <span className="h-6 w-8 rounded-sm bg-(--club-soft)" />
          <div className="flex items-end justify-between text-label">
            {card.holder}
            <span className="font-semibold">{card.kind}</span>
          </div>
        </div>
        <div className="relative -mt-2 flex animate-vignette-rise items-center gap-3 rounded-md bg-chalk py-2 pr-3 pl-3.5 text-label shadow-float [animation-delay:1200ms]">
          <span>
            {card.purchase}
            <span className="block font-semibold tabular-nums">
              {formatNumber(balance)} {club.points}
            </span>
          </span>
          <span className="rounded-sm bg-floodlight px-1.5 py-0.5 text-small font-bold tabular-nums">
            +{card.earned}
          </span>
        </div>
      </div>
    </Vignette>
  )
}
