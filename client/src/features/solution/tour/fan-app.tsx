import Heart from 'lucide-react/icons/heart'
import MessageCircle from 'lucide-react/icons/message-circle'
import Share2 from 'lucide-react/icons/share-2'
import type { ReactNode } from 'react'

import { Crest } from '@/components/vignette/crest'
import { laidOutLater } from '@/lib/loading/later-layout'
import { formatNumber } from '@/lib/numbers'

import type { Club } from './club'
import { copy } from './copy'
import { GoalScene, TrainingScene } from './scenes'

const { app } = copy

/** Shows the club's app in a phone: a feed that swipes from one clip to the next. Decorative. */
export function FanApp({ club, balance }: { club: Club; balance: number }) {
  return (
    // On a phone, the upper half of the picture has to do.
    <div aria-hidden className="max-md:h-44 max-md:overflow-hidden max-md:pt-px">
      <div className="mx-auto w-60 shrink-0 rounded-[2.25rem] bg-ink-raised p-2 shadow-phone ring-1 ring-chalk/30 md:w-72">
        <div
          {...laidOutLater}
          className="relative isolate flex h-[29rem] flex-col overflow-hidden rounded-[1.8rem] bg-(--club-deep) text-label text-chalk transition-colors duration-300 md:h-[36rem]"
        >
          <div className="absolute inset-x-0 top-0 -z-10 h-[200%] -translate-y-1/2 animate-vignette-swipe">
            <Clip club={club} title={app.training}>
              <TrainingScene />
            </Clip>
            <Clip club={club} title={app.clip} tag={app.minute}>
              <GoalScene />
            </Clip>
          </div>
          <div className="flex items-center justify-between gap-2 p-3.5">
            <span className="flex items-center gap-1.5 font-display text-small font-bold">
              <Crest emblem={club.emblem} className="h-7" />
              {club.app}
            </span>
            <span className="flex items-center gap-1.5 rounded-full bg-ink/60 py-1 pr-2.5 pl-1.5 font-semibold tabular-nums">
              <span className="size-3.5 rounded-full bg-(--club-bright) ring-2 ring-(--club-soft)" />
              {formatNumber(balance)}
            </span>
          </div>
          <div className="mx-auto flex overflow-hidden rounded-md bg-ink/80 font-display font-bold">
            <span className="px-2.5 py-1">{club.short}</span>
            <span className="bg-(--club-bright) px-2.5 py-1 text-ink">{app.score}</span>
            <span className="px-2.5 py-1">{app.opponent}</span>
          </div>
          <div className="absolute right-2.5 bottom-24 flex flex-col gap-2.5">
            {[Heart, MessageCircle, Share2].map((Icon, index) => (
              <span key={index} className="grid size-8 place-items-center rounded-full bg-ink/60">
                <Icon className="size-4 fill-chalk stroke-chalk" />
              </span>
            ))}
          </div>
        </div>
      </div>
    </div>
  )
}

interface ClipProps {
  club: Club
  title: string
  tag?: string
  children: ReactNode
}

function Clip({ club, title, tag, children }: ClipProps) {
  return (
    <div className="relative h-1/2">
      {children}
      <div className="absolute inset-x-0 bottom-0 bg-linear-to-t from-ink/90 to-transparent p-3.5 pt-12">
        {tag && (
          <span className="mb-1.5 inline-block rounded-full bg-(--club-soft) px-2 py-0.5 font-semibold text-ink">
            {tag}
          </span>
        )}
        <p className="text-small font-semibold">{title}</p>
        <p className="text-chalk/90">{club.name}</p>
      </div>
    </div>
  )
}
