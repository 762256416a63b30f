import Menu from 'lucide-react/icons/menu'
import { useRef, useState } from 'react'
import { useLocation } from 'react-router-dom'

import { Brand } from '@/components/layout/brand'
import { Link } from '@/components/layout/link'
import { SectionLink } from '@/components/layout/section-link'
import { buttonClass } from '@/components/ui/button-class'
import { cn } from '@/lib/cn'
import { HEADER_SCROLL_THRESHOLD } from '@/lib/constants'
import { useIsLive } from '@/lib/loading/use-is-live'
import { split } from '@/lib/loading/split'
import { useScrolledPast } from '@/lib/browser/use-scrolled-past'
import { SECTION } from '@/lib/sections'
import { useSession } from '@/lib/session/session'

import { copy } from './copy'

/** The menu's dialog is loaded when it is first opened. */
const MobileMenu = split(() => import('./mobile-menu'))

/** Shows the bar at the top of every page: clear over the home page's first screen, white everywhere else. */
export function Header() {
  const { pathname } = useLocation()
  const isScrolled = useScrolledPast(HEADER_SCROLL_THRESHOLD)
  const isSolid = isScrolled || pathname !== '/'
  const accountLabel = useSession() ? copy.profile : copy.login

  return (
    <header
      data-solid={isSolid}
      className={cn(
        'fixed inset-x-0 top-0 z-40 transition-[background-color,color,box-shadow] duration-300 print:hidden',
        isSolid ? 'bg-chalk text-ink shadow-header' : 'text-chalk',
      )}
    >
      <div className="container-page flex h-16 items-center justify-between gap-2 md:h-20 lg:gap-6">
        <Link to="/" aria-label={copy.home} className="mr-auto">
          <Brand nameClassName="md:max-lg:hidden" />
        </Link>
        <nav aria-label={copy.mainNavigation} className="hidden items-center md:flex xl:gap-2">
          {copy.links.map(({ section, label }) => (
            <SectionLink
              key={section}
              section={section}
              className="rounded-sm px-1.5 py-2.5 text-label font-semibold whitespace-nowrap decoration-2 underline-offset-8 hover:underline lg:px-2.5 xl:text-small"
            >
              {label}
            </SectionLink>
          ))}
          <Link
            to="/auth"
            className="rounded-sm px-1.5 py-2.5 text-label font-semibold whitespace-nowrap decoration-2 underline-offset-8 hover:underline lg:px-2.5 xl:text-small"
          >
            {accountLabel}
          </Link>
        </nav>
        <SectionLink
          section={SECTION.contact}
          className={buttonClass({
            variant: isSolid ? 'pitch' : 'floodlight',
            size: 'small',
            className: 'whitespace-nowrap max-md:min-h-10',
          })}
        >
          {copy.demo}
        </SectionLink>
        <MenuButton accountLabel={accountLabel} />
      </div>
    </header>
  )
}

/** Opens the menu of small screens. */
function MenuButton({ accountLabel }: { accountLabel: string }) {
  const ref = useRef<HTMLButtonElement>(null)
  const [isOpen, setIsOpen] = useState(false)
  const [wasOpened, setWasOpened] = useState(false)
  const isLive = useIsLive()

  const open = () =>
    MobileMenu.open(() => {
      setWasOpened(true)
      setIsOpen(true)
    })
  return (
    <>
      <button
        ref={ref}
        type="button"
        aria-label={copy.openMenu}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        aria-disabled={!isLive}
        onClick={open}
        className="-mr-2 grid size-11 place-items-center rounded-md md:hidden"
      >
        <Menu aria-hidden className="size-7" />
      </button>
      {wasOpened && (
        <MobileMenu
          isOpen={isOpen}
          onOpenChange={setIsOpen}
          onLeave={() => ref.current?.focus()}
          accountLabel={accountLabel}
        />
      )}
    </>
  )
}
