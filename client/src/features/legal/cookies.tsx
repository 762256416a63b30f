import { cookies } from './cookies-copy'
import { LegalPage, LegalSection } from './legal-page'

/** Shows the cookie policy, with the table of all cookies. */
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
        <CookieTable />
        <p>{cookies.tableNote}</p>
      </LegalSection>
      <LegalSection title={cookies.entriesTitle}>
        <p>{cookies.entriesNote}</p>
        <dl className="flex flex-col gap-4 text-small">
          {cookies.entries.map(({ names, purpose }) => (
            <div key={names[0]}>
              <dt className="font-mono font-semibold wrap-anywhere">{names.join(', ')}</dt>
              <dd className="mt-1">{purpose}</dd>
            </div>
          ))}
        </dl>
      </LegalSection>
      <LegalSection title={cookies.changeTitle}>
        <p>{cookies.change}</p>
      </LegalSection>
    </LegalPage>
  )
}

const CELL = 'py-3.5 pr-5 text-balance'

/** The label of a cell on narrow screens, where the row of headings is hidden and cells are below each other. */
const LABELLED =
  'max-sm:block max-sm:py-1 max-sm:before:mr-2 max-sm:before:font-semibold max-sm:before:content-[attr(data-label)]'

function CookieTable() {
  const [, kindLabel, purposeLabel, durationLabel] = cookies.columns
  return (
    <table className="w-full border-collapse text-left text-small max-sm:block">
      <thead className="max-sm:sr-only">
        <tr className="border-b-2 border-ink">
          {cookies.columns.map((column) => (
            <th key={column} scope="col" className="py-3 pr-5 font-semibold">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody className="max-sm:block">
        {cookies.rows.map(({ name, kind, purpose, duration }) => (
          <tr
            key={name}
            className="border-b border-line align-top last:border-b-0 max-sm:block max-sm:py-4"
          >
            <th scope="row" className={`${CELL} font-mono font-semibold max-sm:block max-sm:py-1`}>
              {name}
            </th>
            <td data-label={kindLabel} className={`${CELL} ${LABELLED}`}>
              {kind}
            </td>
            <td data-label={purposeLabel} className={`${CELL} ${LABELLED}`}>
              {purpose}
            </td>
            <td data-label={durationLabel} className={`py-3.5 sm:whitespace-nowrap ${LABELLED}`}>
              {duration}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
