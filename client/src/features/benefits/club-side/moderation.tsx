import BadgeCheck from 'lucide-react/icons/badge-check'
import Check from 'lucide-react/icons/check'
import ShieldX from 'lucide-react/icons/shield-x'
import UserRound from 'lucide-react/icons/user-round'

import { Vignette } from '@/components/vignette/vignette'
import { cn } from '@/lib/cn'

import { copy } from './copy'

const { moderation } = copy

const VERDICTS = {
  shown: { Icon: Check, look: 'bg-pitch text-chalk' },
  stopped: { Icon: ShieldX, look: 'bg-flare text-ink' },
  passed: { Icon: UserRound, look: 'bg-floodlight text-ink' },
}

/** Shows messages of fans, and what moderation does with each. */
export function Moderation() {
  return (
    <Vignette title={moderation.title} text={moderation.text} className="bg-ink text-chalk">
      <ul aria-hidden className="flex grow flex-col justify-center gap-2.5 p-3 pb-5 sm:p-6">
        {moderation.messages.map(({ fan, text, verdict }, index) => {
          const { Icon, look } = VERDICTS[verdict]
          return (
            <li
              key={fan}
              style={{ animationDelay: `${index * 500}ms` }}
              className="flex animate-vignette-rise items-center justify-between gap-3 rounded-md bg-ink-raised p-3.5 sm:p-4"
            >
              <span className="min-w-0 text-small">
                <span className="flex items-center gap-1.5 text-label text-haze">
                  {fan}
                  <BadgeCheck className="size-4 fill-floodlight stroke-ink" />
                </span>
                {text || <Redacted />}
              </span>
              <span
                style={{ animationDelay: `${index * 500 + 700}ms` }}
                className={cn(
                  'flex shrink-0 animate-vignette-pop items-center gap-1.5 rounded-full py-1 pr-3 pl-2 text-label font-semibold',
                  look,
                )}
              >
                <Icon className="size-4" />
                {moderation.verdicts[verdict]}
              </span>
            </li>
          )
        })}
      </ul>
    </Vignette>
  )
}

/** Shows bars in place of words that nobody is to read. */
function Redacted() {
  return (
    <span className="flex gap-1.5 py-1.5">
      {['w-9', 'w-6', 'w-14'].map((width) => (
        <span key={width} className={cn('h-2.5 rounded-sm bg-haze/50', width)} />
      ))}
    </span>
  )
}
