import { cookies } from './cookies-copy'
import { LegalPage, LegalSection } from './legal-page'

/** The cookie policy, with the table of all cookies. */
export function Cookies() {
  return (
    <LegalPage title={cookies.title} note={cookies.note}>
      {cookies.sections.map(({ title, paragraphs }) => (
        <LegalSection key={title} title={title}>
          {paragraphs.map((paragraph) => (
            <p key={paragraph}>{paragraph}</p>
          ))}
        </LegalSection>
      ))}
      <LegalSection title={cookies.tableTitle}>
        {/* The table is wider than a phone; its own box scrolls, also by keyboard. */}
        <div
          role="region"
          aria-label={cookies.tableTitle}
          // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
          className="-mx-1 overflow-x-auto px-1"
        >
          <table className="w-full min-w-[34rem] border-collapse text-left text-small">
            <thead>
              <tr className="border-b-2 border-ink">
                {cookies.columns.map((column) => (
                  <th key={column} scope="col" className="py-3 pr-5 font-semibold">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {cookies.rows.map(({ name, kind, purpose, duration }) => (
                <tr key={name} className="border-b border-line align-top">
                  <th scope="row" className="py-3.5 pr-5 font-mono font-semibold">
                    {name}
                  </th>
                  <td className="py-3.5 pr-5">{kind}</td>
                  <td className="py-3.5 pr-5">{purpose}</td>
                  <td className="py-3.5 whitespace-nowrap">{duration}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </LegalSection>
      <LegalSection title={cookies.changeTitle}>
        <p>{cookies.change}</p>
      </LegalSection>
    </LegalPage>
  )
}
