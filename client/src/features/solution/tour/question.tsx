import BadgeCheck from 'lucide-react/icons/badge-check'
import Play from 'lucide-react/icons/play'

import { Vignette } from '@/components/vignette/vignette'

import type { Club } from './club'
import { copy } from './copy'
import { Crest } from '@/components/vignette/crest'

const { question } = copy

/** Shows a question of a fan, and a player who types the answer. */
export function Question({ club }: { club: Club }) {
  return (
    <Vignette title={question.title} text={question.text} className="bg-(--club-soft) text-ink">
      <div
        aria-hidden
        className="flex grow flex-col justify-center gap-2.5 p-5 text-small sm:p-6 md:justify-start"
      >
        <div className="animate-vignette-rise self-start rounded-lg rounded-bl-sm bg-chalk px-3.5 py-2.5">
          <span className="flex items-center gap-1.5 text-label font-semibold">
            {question.fan}
            <BadgeCheck className="size-4 fill-pitch stroke-chalk" />
          </span>
          {question.asked}
          <span className="block text-label text-stone">{question.votes}</span>
        </div>
        <div className="relative self-end">
          <span className="absolute right-3 bottom-2 flex gap-1 opacity-0">
            {[0, 1, 2].map((dot) => (
              <span
                key={dot}
                style={{ animationDelay: `${500 + dot * 150}ms` }}
                className="size-2 animate-vignette-pass rounded-full bg-(--club-deep)"
              />
            ))}
          </span>
          <div className="flex animate-vignette-rise items-center gap-3 rounded-lg rounded-br-sm bg-(--club-deep) py-2.5 pr-3 pl-3.5 text-chalk [animation-delay:2200ms]">
            <span>
              <span className="flex items-center gap-1.5 text-label font-semibold text-(--club-soft)">
                <Crest emblem={club.emblem} className="h-4" />
                {question.player}
              </span>
              {question.answer}
            </span>
            <span className="grid size-9 shrink-0 place-items-center rounded-full bg-(--club-bright) text-ink">
              <Play className="size-4 fill-current" />
            </span>
          </div>
        </div>
      </div>
    </Vignette>
  )
}
