import type { ReactNode } from 'react'

import { Brand } from '@/components/layout/brand'
import { Link } from '@/components/layout/link'
import { SectionLink } from '@/components/layout/section-link'
import { reopenConsent } from '@/lib/privacy/consent'
import { useSiteSettings } from '@/lib/content/use-site-settings'

import { copy } from './copy'
import { RecentPosts } from './recent-posts'

const LINK =
  'inline-block py-1.5 underline-offset-4 hover:text-floodlight hover:underline wrap-anywhere'

interface FooterProps {
  /** The sign-up for the newsletter, above the links. */
  newsletter?: ReactNode
}

/** Shows the footer of every page: its links. */
export function Footer({ newsletter }: FooterProps) {
  const { contactEmail, contactPhone, linkedinUrl } = useSiteSettings()
  return (
    <footer className="overflow-hidden bg-ink text-small text-chalk print:hidden">
      <div className="container-page pt-9 md:pt-16 lg:pt-20">
        {newsletter}
        <div className="grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)] gap-x-6 gap-y-6 pt-7 md:grid-cols-[2.5fr_5.5fr_2fr_4fr] md:gap-x-8 md:gap-y-12 md:pt-14 lg:grid-cols-[5fr_3fr_5fr_2.5fr_4fr]">
          <div className="col-span-full lg:col-span-1">
            <Brand />
            <p className="mt-2 text-lead text-haze md:mt-4 md:max-w-[24ch]">{copy.pitch}</p>
          </div>
          <Column title={copy.quickLinks} className="max-md:row-span-2">
            <ul className="flex flex-col md:gap-1">
              {copy.sections.map(({ section, label }) => (
                <li key={section}>
                  <SectionLink section={section} className={LINK}>
                    {label}
                  </SectionLink>
                </li>
              ))}
            </ul>
          </Column>
          <Column title={copy.latest} className="max-md:order-last max-md:col-span-full">
            <RecentPosts />
          </Column>
          <Column title={copy.company}>
            <LinkList links={copy.companyLinks} />
          </Column>
          <Column title={copy.contact}>
            <ul className="flex flex-col md:gap-1">
              <li>
                <a href={`tel:${contactPhone.replace(/[^+\d]/g, '')}`} className={LINK}>
                  {contactPhone}
                </a>
              </li>
              <li>
                <a href={`mailto:${contactEmail}`} className={LINK}>
                  {contactEmail}
                </a>
              </li>
              <li>
                <a href={linkedinUrl} target="_blank" rel="noopener noreferrer" className={LINK}>
                  {copy.network}
                </a>
              </li>
            </ul>
          </Column>
        </div>
        <div className="mt-6 flex flex-wrap items-center justify-between gap-x-10 gap-y-1 border-t border-line-dark py-4 text-haze md:mt-16 md:py-7">
          <p>{copy.copyright(new Date().getFullYear())}</p>
          <ul className="flex flex-wrap gap-x-5 md:gap-x-8">
            {copy.legalLinks.map(({ to, label }) => (
              <li key={to}>
                <Link to={to} className={LINK}>
                  {label}
                </Link>
              </li>
            ))}
            <li>
              <button type="button" onClick={reopenConsent} className={LINK}>
                {copy.cookieSettings}
              </button>
            </li>
          </ul>
        </div>
      </div>
    </footer>
  )
}

interface ColumnProps {
  title: string
  className?: string
  children: ReactNode
}

function Column({ title, className, children }: ColumnProps) {
  return (
    <div className={className}>
      <h2 className="mb-2 font-display text-body font-semibold md:mb-4">{title}</h2>
      {children}
    </div>
  )
}

function LinkList({ links }: { links: readonly { to: string; label: string }[] }) {
  return (
    <ul className="flex flex-col md:gap-1">
      {links.map(({ to, label }) => (
        <li key={to}>
          <Link to={to} className={LINK}>
            {label}
          </Link>
        </li>
      ))}
    </ul>
  )
}
