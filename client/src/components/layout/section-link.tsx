import type { SectionId } from '@/lib/sections'

import { Link, type LinkProps } from './link'

type SectionLinkProps = Omit<LinkProps, 'to'> & { section: SectionId }

/**
 * Shows a link to one of the home page's sections. On other pages it navigates to the home page first; `HashScroll`
 * of the page scrolls in both cases.
 */
export function SectionLink({ section, ...props }: SectionLinkProps) {
  return <Link to={{ pathname: '/', hash: section }} {...props} />
}
