import type { ReactNode } from 'react'

import { StepEdge } from '@/components/layout/step-edge'

interface PageHeroProps {
  title: ReactNode
  lead?: ReactNode
  /** Stands beside the title where there is room, below it otherwise. */
  aside?: ReactNode
  children?: ReactNode
}

/** Shows the first screen of a subpage: title and lead on ink, below the white header. */
export function PageHero({ title, lead, aside, children }: PageHeroProps) {
  return (
    <div className="relative isolate overflow-hidden bg-ink pt-20 text-chalk">
      <div className="container-page grid items-center gap-x-16 gap-y-9 pt-[clamp(2rem,2rem+5vw,7rem)] pb-[clamp(4rem,2.5rem+7vw,11rem)] md:grid-cols-[minmax(0,1fr)_auto]">
        <div className="flex flex-col items-start">
          <h1 className="max-w-[16ch] text-hero">{title}</h1>
          {lead && <div className="mt-7 max-w-[46ch] text-lead text-chalk/90">{lead}</div>}
          {children}
        </div>
        {aside}
      </div>
      <StepEdge steps={6} direction="up" className="h-[clamp(1.5rem,5vw,5rem)] text-paper" />
    </div>
  )
}
