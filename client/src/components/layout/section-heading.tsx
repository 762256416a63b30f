import { cn } from '@/lib/cn'

import { headingId } from './section'

interface SectionHeadingProps {
  /** The id of the section that this heading names. */
  section: string
  title: string
  lead?: string
  /** Side by side on wide screens, for sections whose content takes the full width. */
  split?: boolean
  className?: string
}

export function SectionHeading({ section, title, lead, split, className }: SectionHeadingProps) {
  return (
    <div
      className={cn(
        'grid gap-x-16 gap-y-6',
        split && 'lg:grid-cols-[minmax(0,7fr)_minmax(0,4fr)] lg:items-end lg:justify-between',
        className,
      )}
    >
      <h2 id={headingId(section)} className="max-w-[18ch] text-title">
        {title}
      </h2>
      {lead && <p className="max-w-[46ch] text-lead">{lead}</p>}
    </div>
  )
}
