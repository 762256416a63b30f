import { useSiteSettings } from '@/lib/content/use-site-settings'

import { LegalPage, LegalSection } from './legal-page'

const copy = {
  title: 'Imprint',
  ownerTitle: 'Legal owner',
  owner: ['Terrace Fan Platforms Ltd', '14 Harbour Row', 'London E1W 2PN', 'United Kingdom'],
  directorTitle: 'Managing director',
  director: 'Eleanor Vasske',
  registerTitle: 'Commercial register',
  court: 'Register court: Companies House, Cardiff',
  number: 'Registration number: 00000000 (fictional company)',
  contactTitle: 'Contact',
  editorialTitle: 'Responsible for editorial content',
  editorial: 'Samir Haddaoui, at the address above',
} as const

/** Shows who is responsible for this website. */
export function Imprint() {
  const { contactEmail, contactPhone } = useSiteSettings()
  return (
    <LegalPage title={copy.title}>
      <LegalSection title={copy.ownerTitle}>
        <address className="not-italic">
          {copy.owner.map((line) => (
            <span key={line} className="block">
              {line}
            </span>
          ))}
        </address>
      </LegalSection>
      <LegalSection title={copy.directorTitle}>
        <p>{copy.director}</p>
      </LegalSection>
      <LegalSection title={copy.registerTitle}>
        <p>
          {copy.court}
          <br />
          {copy.number}
        </p>
      </LegalSection>
      <LegalSection title={copy.contactTitle}>
        <p>
          <a href={`tel:${contactPhone.replace(/[^+\d]/g, '')}`}>{contactPhone}</a>
          <br />
          <a href={`mailto:${contactEmail}`}>{contactEmail}</a>
        </p>
      </LegalSection>
      <LegalSection title={copy.editorialTitle}>
        <p>{copy.editorial}</p>
      </LegalSection>
    </LegalPage>
  )
}
