import { BrandMark } from '@/components/layout/brand'
import { Reveal } from '@/components/layout/reveal'
import { cn } from '@/lib/cn'
import { laidOutLater } from '@/lib/loading/later-layout'

import { copy } from './copy'

/** The places of the four parts: on the outside of their quarter, away from the centre circle. */
const QUARTERS = [
  'border-r-2 border-b-2',
  'border-b-2 lg:items-end lg:text-right',
  'border-r-2 justify-end',
  'justify-end lg:items-end lg:text-right',
]

/** Shows the four parts of the framework, each in its quarter of a pitch as wide as the screen. */
export function Framework() {
  return (
    <div {...laidOutLater} className="mt-10 md:mt-24 lg:mt-36">
      <Reveal className="container-page grid gap-x-16 gap-y-4 lg:grid-cols-[minmax(0,7fr)_minmax(0,4fr)] lg:items-end">
        <h3 className="text-title">{copy.frameworkTitle}</h3>
        <p className="text-lead text-chalk/90">{copy.frameworkLead}</p>
      </Reveal>
      <div className="relative isolate mt-6 overflow-hidden border-y-2 border-chalk/70 bg-pitch md:mt-12">
        <PitchLines />
        <ul className="grid grid-cols-2">
          {copy.framework.map(({ title, text }, index) => (
            <li
              key={title}
              className={cn(
                'flex min-h-40 flex-col border-chalk/70 px-[clamp(0.875rem,7.5vw,12rem)] py-5 sm:min-h-72 sm:py-10 lg:min-h-[clamp(20rem,23vw,30rem)] lg:py-14',
                QUARTERS[index],
              )}
            >
              <h4 className="font-display text-heading font-bold lg:text-topic">{title}</h4>
              <p className="mt-1.5 max-w-[30ch] max-sm:text-small sm:mt-2 lg:text-lead">{text}</p>
            </li>
          ))}
        </ul>
        <span className="absolute top-1/2 left-1/2 -translate-1/2 rounded-full border-2 border-chalk/70 bg-pitch p-2.5 sm:p-9 lg:p-[clamp(3.5rem,6vw,7rem)]">
          <BrandMark className="size-6 sm:size-10 lg:size-16" />
        </span>
      </div>
    </div>
  )
}

/** Shows stripes of mown grass, and penalty areas with their arcs at both ends. */
function PitchLines() {
  return (
    <div aria-hidden className="absolute inset-0 -z-10">
      <div className="absolute inset-0 bg-[repeating-linear-gradient(90deg,transparent_0_6.25%,var(--color-pitch-mid)_6.25%_12.5%)] opacity-60" />
      <div className="absolute inset-y-[24%] -left-0.5 hidden w-[6%] border-2 border-chalk/30 lg:block" />
      <div className="absolute inset-y-[24%] -right-0.5 hidden w-[6%] border-2 border-chalk/30 lg:block" />
    </div>
  )
}
