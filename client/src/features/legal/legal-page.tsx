import type { ReactNode } from 'react'

interface LegalPageProps {
  title: string
  note?: string
  children: ReactNode
}

/** The frame of a legal page: heading, and text in one readable column. */
export function LegalPage({ title, note, children }: LegalPageProps) {
  return (
    <article className="bg-paper pt-36 pb-28 lg:pt-44 lg:pb-40">
      <div className="container-page grid grid-cols-[minmax(0,1fr)] gap-x-16 gap-y-10 lg:grid-cols-[minmax(0,4fr)_minmax(0,7fr)]">
        <header className="lg:sticky lg:top-28 lg:self-start">
          <h1 className="text-title">{title}</h1>
          {note && <p className="mt-5 text-stone">{note}</p>}
        </header>
        {/* Rules and tables reach the edge that the footer has, lines of text stay readable. */}
        <div className="[&_a]:font-semibold [&_a]:text-pitch [&_a]:underline [&_a]:underline-offset-4 [&_a:hover]:text-ink [&_p]:max-w-[42rem]">
          {children}
        </div>
      </div>
    </article>
  )
}

interface LegalSectionProps {
  title: string
  children: ReactNode
}

/** A section of a legal page. */
export function LegalSection({ title, children }: LegalSectionProps) {
  return (
    <section className="border-t border-ink/20 py-8 first:border-t-4 first:border-ink">
      <h2 className="text-subheading">{title}</h2>
      <div className="mt-3 flex flex-col gap-3">{children}</div>
    </section>
  )
}
