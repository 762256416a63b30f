import { BrandMark } from '@/components/layout/brand'
import { Reveal } from '@/components/layout/reveal'
import { cn } from '@/lib/cn'

import { copy } from './copy'

/** The halfway lines, and text that faces the goal on its own side. */
const QUARTERS = [
  '',
  'border-t-2 sm:items-end sm:border-t-0 sm:border-l-2 sm:text-right',
  'border-t-2',
  'border-t-2 sm:items-end sm:border-l-2 sm:text-right',
]

/** Shows the four parts of the framework, each in its quarter of a pitch. */
export function Framework() {
  return (
    <Reveal className="container-page mt-24 lg:mt-36">
      <div className="grid gap-x-16 gap-y-5 lg:grid-cols-[minmax(0,7fr)_minmax(0,4fr)] lg:items-end">
        <h3 className="text-title">{copy.frameworkTitle}</h3>
        <p className="text-lead text-chalk/90">{copy.frameworkLead}</p>
      </div>
      <div className="relative isolate mt-12 rounded-sm border-2 border-chalk/70 bg-pitch">
        <PitchLines />
        <ul className="grid sm:grid-cols-2">
          {copy.framework.map(({ title, text }, index) => (
            <li
              key={title}
              className={cn(
                'flex min-h-44 flex-col justify-center border-chalk/70 px-7 py-10 sm:min-h-60 sm:px-[20%] lg:min-h-72',
                QUARTERS[index],
              )}
            >
              <h4 className="font-display text-heading font-bold">{title}</h4>
              <p className="mt-2 max-w-[30ch]">{text}</p>
            </li>
          ))}
        </ul>
        <span className="absolute top-1/2 left-1/2 hidden -translate-1/2 rounded-full border-2 border-chalk/70 bg-pitch p-9 sm:block lg:p-14">
          <BrandMark className="size-10 lg:size-14" />
        </span>
      </div>
    </Reveal>
  )
}

/** Shows penalty areas at both ends. */
function PitchLines() {
  return (
    <div aria-hidden className="absolute inset-0 -z-10 hidden sm:block">
      <div className="absolute inset-y-[27%] -left-0.5 w-[7%] border-2 border-chalk/40" />
      <div className="absolute inset-y-[27%] -right-0.5 w-[7%] border-2 border-chalk/40" />
    </div>
  )
}
