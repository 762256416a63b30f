import { Menu } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'react-router-dom'

import { SectionLink } from '@/components/layout/section-link'
import { Sheet, SheetContent, SheetTrigger } from '@/components/ui/sheet'

import { copy } from './copy'

/** The menu of small screens. Following a link closes it. */
export default function MobileMenu({ accountLabel }: { accountLabel: string }) {
  const [isOpen, setIsOpen] = useState(false)
  const close = () => setIsOpen(false)

  return (
    <Sheet open={isOpen} onOpenChange={setIsOpen}>
      <SheetTrigger
        aria-label={copy.openMenu}
        className="-mr-2 grid size-11 place-items-center rounded-md"
      >
        <Menu aria-hidden className="size-7" />
      </SheetTrigger>
      <SheetContent title={copy.menu} closeLabel={copy.closeMenu}>
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
