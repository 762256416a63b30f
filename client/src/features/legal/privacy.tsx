import { useSiteSettings } from '@/lib/use-site-settings'

import { LegalPage, LegalSection } from './legal-page'
import { privacy } from './privacy-copy'

/** The privacy policy: fourteen numbered sections, the last of which says how to reach us. */
export function Privacy() {
  const { contactEmail, contactPhone } = useSiteSettings()
  return (
    <LegalPage title={privacy.title} note={privacy.updated}>
      {privacy.sections.map(({ title, paragraphs }, index) => (
        <LegalSection key={title} title={`${index + 1}. ${title}`}>
          {paragraphs.map((paragraph) => (
            <p key={paragraph}>{paragraph}</p>
          ))}
          {index === privacy.sections.length - 1 && (
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
