import type { ComponentProps } from 'react'
import { Link } from 'react-router-dom'

import type { SectionId } from '@/lib/sections'

type SectionLinkProps = Omit<ComponentProps<typeof Link>, 'to'> & { section: SectionId }

/**
 * A link to one of the home page's sections. On the home page it scrolls there, from anywhere else it
 * goes there first; the page's `HashScroll` does the scrolling in both cases.
 */
export function SectionLink({ section, ...props }: SectionLinkProps) {
  return <Link to={{ pathname: '/', hash: section }} {...props} />
}
