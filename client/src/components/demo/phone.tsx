import Pause from 'lucide-react/icons/pause'
import Play from 'lucide-react/icons/play'

import { useIsLive } from '@/lib/loading/use-is-live'

import { copy } from './copy'
import { DemoVideo } from './demo-video'

interface PhoneProps {
  isPaused: boolean
  onPausedChange: (isPaused: boolean) => void
}

/** Shows the demo in a phone that fits on the screen, over a ticket with its caption. */
export function Phone({ isPaused, onPausedChange }: PhoneProps) {
  const isLive = useIsLive()
  const Icon = isPaused ? Play : Pause
  return (
    <figure className="mx-auto w-[min(15rem,60vw)] md:w-[clamp(15rem,calc((100svh-13rem)*0.4615),20rem)] lg:beside-chat">
      <div className="rounded-phone bg-ink p-2.5 shadow-phone ring-1 ring-chalk/25">
        <div className="aspect-[304/658] overflow-hidden rounded-screen">
          <DemoVideo isPaused={isPaused} onResume={() => onPausedChange(false)} />
        </div>
      </div>
      <figcaption className="relative mt-4 flex items-stretch overflow-hidden rounded-md bg-harbour-sand text-label text-ink max-md:-mx-8">
        <button
          type="button"
          aria-label={isPaused ? copy.resume : copy.pause}
          aria-disabled={!isLive}
          onClick={() => onPausedChange(!isPaused)}
          className="grid min-h-11 w-12 shrink-0 place-items-center border-r-2 border-dashed border-ink/40 focus-inside hover:bg-harbour-coral"
        >
          <Icon aria-hidden className="size-5 fill-current" />
        </button>
        <span className="px-3.5 py-2.5">{copy.caption}</span>
      </figcaption>
    </figure>
  )
}
