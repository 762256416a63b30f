import { Link } from '@/components/layout/link'
import { SectionLink } from '@/components/layout/section-link'
import { Sheet, SheetContent } from '@/components/ui/sheet'

import { copy } from './copy'

interface MobileMenuProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
  /** Called to restore the focus. */
  onLeave: () => void
  accountLabel: string
}

/** Shows the menu of small screens. Following a link closes it. */
export default function MobileMenu(props: MobileMenuProps) {
  const { isOpen, onOpenChange, onLeave, accountLabel } = props
  const close = () => onOpenChange(false)
  return (
    <Sheet open={isOpen} onOpenChange={onOpenChange}>
      <SheetContent title={copy.menu} closeLabel={copy.closeMenu} onLeave={onLeave}>
        <nav aria-label={copy.mainNavigation} className="mt-8 flex flex-col">
          {copy.links.map(({ section, label }) => (
            <SectionLink
              key={section}
              section={section}
              onClick={close}
              className="border-b border-line-dark py-4 font-display text-heading font-semibold"
            >
              {label}
            </SectionLink>
          ))}
          <Link
            to="/auth"
            onClick={close}
            className="mt-8 rounded-md bg-floodlight px-5 py-4 text-center font-semibold text-ink"
          >
            {accountLabel}
          </Link>
        </nav>
      </SheetContent>
    </Sheet>
  )
}
