import Check from 'lucide-react/icons/check'
import { useState } from 'react'

import { Vignette } from '@/components/vignette/vignette'
import { cn } from '@/lib/cn'
import { formatNumber } from '@/lib/numbers'

import type { Club } from './club'
import { copy } from './copy'

const { poll } = copy

interface PollProps {
  club: Club
  /** Called when the visitor votes for the first time. */
  onVote: () => void
}

/** Shows a poll of the app, in which the visitor can vote. */
export function Poll({ club, onVote }: PollProps) {
  const [choice, setChoice] = useState<string>()
  const total = poll.players.reduce((sum, { votes }) => sum + votes, choice ? 1 : 0)
  return (
    <Vignette title={poll.title} text={poll.text} className="bg-(--club-deep) text-chalk">
      <div
        role="group"
        aria-label={poll.question}
        className="flex grow flex-col justify-center gap-2 p-5 sm:p-6 md:grow-0"
      >
        <p className="mb-1 font-display text-subheading font-semibold">{poll.question}</p>
        {poll.players.map(({ name, votes }, index) => {
          const isChosen = choice === name
          const share = Math.round(((votes + (isChosen ? 1 : 0)) / total) * 100)
          return (
            <button
              key={name}
              type="button"
              aria-pressed={isChosen}
              onClick={() => {
                setChoice(name)
                onVote()
              }}
              className="relative isolate flex min-h-11 items-center gap-2 overflow-hidden rounded-md px-3.5 text-small font-semibold ring-1 ring-chalk/35 ring-inset hover:ring-chalk"
            >
              <span
                aria-hidden
                style={{ width: `${share}%`, animationDelay: `${300 + index * 150}ms` }}
                className={cn(
                  'absolute inset-y-0 left-0 -z-10 origin-left animate-vignette-grow-x transition-colors',
                  isChosen ? 'bg-(--club-bright)' : 'bg-chalk/20',
                )}
              />
              <span className={cn('flex items-center gap-2', isChosen && CHOSEN)}>
                {name}
                {isChosen && <Check aria-hidden className="size-4" />}
              </span>
              <span className="ml-auto tabular-nums">{share}%</span>
            </button>
          )
        })}
        <div className="flex justify-between gap-3 text-label">
          <p role="status" className="text-(--club-soft)">
            {choice && poll.thanks(`+${poll.reward} ${club.points}`)}
          </p>
          <p className="tabular-nums">{poll.votes(formatNumber(total))}</p>
        </div>
      </div>
    </Vignette>
  )
}

/** A name on the bright bar of its votes, which may be shorter than the name. */
const CHOSEN = '-ml-1.5 rounded-sm bg-(--club-bright) px-1.5 text-ink'
