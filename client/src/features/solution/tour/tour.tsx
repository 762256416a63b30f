import { useState } from 'react'

import { Reveal } from '@/components/layout/reveal'
import { SwipeRow } from '@/components/layout/swipe-row'
import { laidOutLater } from '@/lib/loading/later-layout'

import type { Club } from './club'
import { copy } from './copy'
import { PointsCard } from './points-card'
import { Poll } from './poll'
import { Question } from './question'
import { Rewards } from './rewards'
import { WhiteLabel } from './white-label'

/** Shows the app in pictures that a visitor can set up as a club would: its name, its crest, its colours. */
export function Tour() {
  const [setUp, setSetUp] = useState({ emblem: 0, colours: 0, name: '' })
  const [isVoted, setIsVoted] = useState(false)
  const example = copy.clubs[setUp.emblem] ?? copy.clubs[0]
  const club: Club = {
    ...example,
    name: setUp.name.trim() || example.name,
    colours: copy.colours[setUp.colours]?.id ?? 'harbour',
  }
  const balance = copy.balance + (isVoted ? copy.poll.reward : 0)

  return (
    <div {...laidOutLater} className="mt-10 md:mt-14 lg:mt-32">
      <Reveal className="container-page grid gap-x-16 gap-y-4 lg:grid-cols-[minmax(0,7fr)_minmax(0,4fr)] lg:items-end">
        <h3 className="text-title">{copy.title}</h3>
        <p className="text-lead text-chalk/90">{copy.lead}</p>
      </Reveal>
      <div data-colours={club.colours} className="container-page mt-4 md:mt-6 lg:mt-12">
        <SwipeRow
          label={copy.row}
          className="[--swipe-card:min(92%,22rem)] [--swipe-gap:0.75rem] md:grid md:grid-flow-col md:grid-cols-2 md:grid-rows-[auto_1fr_1fr] md:gap-4 xl:grid-cols-4 xl:grid-rows-2"
        >
          <li {...laidOutLater} className="grid md:col-span-2 xl:row-span-2">
            <WhiteLabel
              club={club}
              balance={balance}
              setUp={setUp}
              onChange={(change) => setSetUp({ ...setUp, ...change })}
            />
          </li>
          <li {...laidOutLater} className="grid">
            <Poll club={club} onVote={() => setIsVoted(true)} />
          </li>
          <li {...laidOutLater} className="grid">
            <Question club={club} />
          </li>
          <li {...laidOutLater} className="grid">
            <PointsCard club={club} balance={balance} />
          </li>
          <li {...laidOutLater} className="grid">
            <Rewards club={club} balance={balance} />
          </li>
        </SwipeRow>
      </div>
      <p className="container-page mt-3 text-label text-haze">{copy.note}</p>
    </div>
  )
}
