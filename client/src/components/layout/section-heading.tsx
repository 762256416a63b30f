import { cva, type VariantProps } from 'class-variance-authority'

import { cn } from '@/lib/cn'

import { headingId } from './section'

/** Sections that carry the pitch are loud, those that one reads or looks things up in are quiet. */
const heading = cva('', {
  variants: {
    scale: {
      loud: 'max-w-[14ch] text-title md:text-hero',
      normal: 'max-w-[18ch] text-title',
      quiet: 'max-w-[22ch] text-topic',
    },
  },
  defaultVariants: { scale: 'normal' },
})

interface SectionHeadingProps extends VariantProps<typeof heading> {
  /** The id of the section that this heading names. */
  section: string
  title: string
  lead?: string
  /** Side by side on wide screens, for sections whose content takes the full width. */
  split?: boolean
  className?: string
}

export function SectionHeading(props: SectionHeadingProps) {
  const { section, title, lead, scale, split, className } = props
  return (
    <div
      className={cn(
        'grid gap-x-16 gap-y-4 sm:gap-y-6',
        split && 'lg:grid-cols-[minmax(0,7fr)_minmax(0,4fr)] lg:items-end lg:justify-between',
        className,
      )}
    >
      <h2 id={headingId(section)} className={heading({ scale })}>
        {title}
      </h2>
      {lead && <p className="max-w-[46ch] text-lead">{lead}</p>}
    </div>
  )
}
