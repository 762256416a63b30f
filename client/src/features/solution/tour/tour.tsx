import { useState } from 'react'

import { Reveal } from '@/components/layout/reveal'

import type { Club } from './club'
import { copy } from './copy'
import { PointsCard } from './points-card'
import { Poll } from './poll'
import { Question } from './question'
import { Rewards } from './rewards'
import { WhiteLabel } from './white-label'

const STACK =
  'grid auto-rows-fr gap-3 sm:gap-4 max-md:w-[min(82vw,20rem)] max-md:shrink-0 max-md:snap-center'

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
    <div className="mt-14 lg:mt-32">
      <Reveal className="container-page grid gap-x-16 gap-y-4 lg:grid-cols-[minmax(0,7fr)_minmax(0,4fr)] lg:items-end">
        <h3 className="text-title">{copy.title}</h3>
        <p className="text-lead text-chalk/90">{copy.lead}</p>
      </Reveal>
      <div
        data-colours={club.colours}
        className="container-page mt-6 flex gap-3 max-md:snap-x max-md:snap-mandatory max-md:scroll-px-5 max-md:overflow-x-auto max-md:pb-3 sm:gap-4 md:grid md:grid-cols-2 lg:mt-12 xl:grid-cols-4"
      >
        <WhiteLabel
          club={club}
          balance={balance}
          setUp={setUp}
          onChange={(change) => setSetUp({ ...setUp, ...change })}
        />
        <div className={STACK}>
          <Poll club={club} onVote={() => setIsVoted(true)} />
          <Question club={club} />
        </div>
        <div className={STACK}>
          <PointsCard club={club} balance={balance} />
          <Rewards club={club} balance={balance} />
        </div>
      </div>
      <p className="container-page mt-3 text-label text-haze">{copy.note}</p>
    </div>
  )
}
