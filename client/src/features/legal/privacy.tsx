import { useSiteSettings } from '@/lib/content/use-site-settings'

import { LegalPage, LegalSection } from './legal-page'
import { privacy } from './privacy-copy'

const SECTIONS = privacy.sections.map(({ title, paragraphs }, index) => ({
  id: `section-${index + 1}`,
  title: `${index + 1}. ${title}`,
  paragraphs,
}))

/** Shows the privacy policy: fourteen numbered sections, the last of which says how to reach us. */
export function Privacy() {
  const { contactEmail, contactPhone } = useSiteSettings()
  return (
    <LegalPage title={privacy.title} note={privacy.updated} contents={SECTIONS}>
      {SECTIONS.map(({ id, title, paragraphs }, index) => (
        <LegalSection key={id} id={id} title={title}>
          {paragraphs.map((paragraph) => (
            <p key={paragraph}>{paragraph}</p>
          ))}
          {index === SECTIONS.length - 1 && (
            <p>
              <a href={`mailto:${contactEmail}`}>{contactEmail}</a>
              <br />
              <a href={`tel:${contactPhone.replace(/[^+\d]/g, '')}`}>{contactPhone}</a>
            </p>
          )}
        </LegalSection>
      ))}
    </LegalPage>
  )
}
