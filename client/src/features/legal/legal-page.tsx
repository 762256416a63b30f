import type { ReactNode } from 'react'

import { Link } from '@/components/layout/link'

/** What a section is called, and the id that links lead to. */
interface Entry {
  id: string
  title: string
}

interface LegalPageProps {
  title: string
  note?: string
  /** The sections of a long page, for the list of links beside it. */
  contents?: readonly Entry[]
  children: ReactNode
}

/** Shows the frame of a legal page: heading, and text in one readable column. */
export function LegalPage({ title, note, contents, children }: LegalPageProps) {
  return (
    <article className="bg-paper pt-36 pb-28 lg:pt-44 lg:pb-40">
      <div className="container-page grid grid-cols-[minmax(0,1fr)] gap-x-16 gap-y-10 lg:grid-cols-[minmax(0,4fr)_minmax(0,7fr)]">
        <header className="lg:sticky lg:top-28 lg:self-start">
          <h1 className="text-title">{title}</h1>
          {note && <p className="mt-5 text-stone">{note}</p>}
          {contents && <Contents entries={contents} />}
        </header>
        {/* Rules and tables reach the edge that the footer has, lines of text stay readable. */}
        <div className="[&_a]:font-semibold [&_a]:text-pitch [&_a]:underline [&_a]:underline-offset-4 [&_a:hover]:text-ink [&_p]:max-w-[42rem]">
          {children}
        </div>
      </div>
    </article>
  )
}

/** Links to the sections; hidden if the screen is too low to show all of them. */
function Contents({ entries }: { entries: readonly Entry[] }) {
  return (
    <nav aria-label="On this page" className="mt-8 [@media(width<64rem)_or_(height<50rem)]:hidden">
      <ul className="flex flex-col">
        {entries.map(({ id, title }) => (
          <li key={id}>
            <Link
              to={{ hash: id }}
              className="inline-block py-1 text-small text-stone underline-offset-4 hover:text-ink hover:underline"
            >
              {title}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

interface LegalSectionProps {
  /** Where links lead that name the section. */
  id?: string
  title: string
  children: ReactNode
}

/** Shows a section of a legal page. */
export function LegalSection({ id, title, children }: LegalSectionProps) {
  return (
    <section
      id={id}
      tabIndex={id === undefined ? undefined : -1}
      className="border-t border-ink/20 py-8 first:border-t-4 first:border-ink"
    >
      <h2 className="text-subheading">{title}</h2>
      <div className="mt-3 flex flex-col gap-3">{children}</div>
    </section>
  )
}
