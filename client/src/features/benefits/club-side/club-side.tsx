import { SwipeRow } from '@/components/layout/swipe-row'
import { laidOutLater } from '@/lib/loading/later-layout'

import { Calculator } from '@/features/benefits/calculator/calculator'
import { copy } from './copy'
import { Dashboard } from './dashboard'
import { Moderation } from './moderation'

/**
 * Shows what the club's own people see: their income, the messages of their fans, and what a year would bring. On a phone
 * that is one row to swipe; on wider screens each is an item of the grid around it, with the calculator at its end.
 */
export function ClubSide() {
  return (
    <>
      <SwipeRow
        label={copy.label}
        className="[--swipe-card:min(95%,22rem)] [--swipe-gap:0.75rem] md:contents"
      >
        <li {...laidOutLater} className="grid">
          <Dashboard />
        </li>
        <li {...laidOutLater} className="grid">
          <Moderation />
        </li>
        <li {...laidOutLater} className="grid md:order-3 md:mt-6 lg:col-span-2 lg:mt-20">
          <Calculator />
        </li>
      </SwipeRow>
      <p className="mt-3 text-label text-stone md:order-1 md:-mt-1 lg:col-span-2">{copy.note}</p>
    </>
  )
}
