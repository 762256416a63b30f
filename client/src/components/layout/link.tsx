import type { ComponentProps, MouseEvent } from 'react'
import { useHref, useLinkClickHandler, type To } from 'react-router-dom'

/** Links open in the same tab: `follow` would not know of a `target`. */
export interface LinkProps extends Omit<ComponentProps<'a'>, 'href' | 'target'> {
  to: To
}

/** Whether the address, which may come from the database, leads to another site. */
function isElsewhere(to: To): to is string {
  return typeof to === 'string' && /^(?:[a-z][a-z\d+.-]*:|\/\/)/i.test(to)
}

/**
 * Shows a link, which leads to pages of the site without loading the document again. The component of react-router does
 * the same; it brings along what prefetches for its framework and sends its forms, which the site does not use.
 */
export function Link({ to, children, ...props }: LinkProps) {
  if (!isElsewhere(to)) return <PageLink {...props} to={to} children={children} />
  return (
    <a {...props} href={to}>
      {children}
    </a>
  )
}

function PageLink({ to, onClick, children, ...props }: LinkProps) {
  const href = useHref(to)
  const follow = useLinkClickHandler(to)
  const handleClick = (event: MouseEvent<HTMLAnchorElement>) => {
    onClick?.(event)
    if (!event.defaultPrevented) follow(event)
  }
  return (
    <a {...props} href={href} onClick={handleClick}>
      {children}
    </a>
  )
}
