import { cva, type VariantProps } from 'class-variance-authority'
import type { ReactNode } from 'react'

import { cn } from '@/lib/cn'
import { laidOutLater } from '@/lib/loading/later-layout'

const section = cva('relative section-space', {
  variants: {
    tone: {
      paper: 'bg-paper text-ink',
      chalk: 'bg-chalk text-ink',
      mist: 'bg-mist text-ink',
      flare: 'bg-flare text-ink',
      pitch: 'bg-pitch text-chalk',
      'pitch-deep': 'bg-pitch-deep text-chalk',
      ink: 'bg-ink text-chalk',
    },
  },
})

interface SectionProps extends VariantProps<typeof section> {
  /** The target of links in the page's menu; the id of the heading is `<id>-heading`. */
  id: string
  className?: string
  children: ReactNode
}

/** Shows a band of the page, named for screen readers by its `SectionHeading`. */
export function Section({ id, tone, className, children }: SectionProps) {
  return (
    <section
      {...laidOutLater}
      id={id}
      tabIndex={-1}
      aria-labelledby={headingId(id)}
      className={cn(section({ tone }), className)}
    >
      {children}
    </section>
  )
}

export function headingId(sectionId: string) {
  return `${sectionId}-heading`
}
