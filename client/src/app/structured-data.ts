import type { SiteSettings } from '@/lib/site-settings'

/** The organisation behind the site. Source: schema.org/Organization. */
export function organization(settings: SiteSettings) {
  const { origin } = window.location
  return {
    '@type': 'Organization',
    '@id': `${origin}/#organization`,
    name: settings.siteName,
    url: `${origin}/`,
    description: settings.siteDescription,
    logo: new URL('/icon-512.png', origin).href,
    email: settings.contactEmail,
    telephone: settings.contactPhone,
    sameAs: [settings.linkedinUrl],
  }
}

/** Questions with their answers. Source: schema.org/FAQPage. */
export function faqPage(faqs: readonly { question: string; answer: string }[]) {
  return {
    '@type': 'FAQPage',
    mainEntity: faqs.map(({ question, answer }) => ({
      '@type': 'Question',
      name: question,
      acceptedAnswer: { '@type': 'Answer', text: answer },
    })),
  }
}

interface ArticleFacts {
  title: string
  description: string
  image: string
  path: string
}

/** An article of the site's blog. Source: schema.org/Article. */
export function article(facts: ArticleFacts, settings: SiteSettings) {
  const { origin } = window.location
  const publisher = { '@type': 'Organization', name: settings.siteName, url: `${origin}/` }
  return {
    '@type': 'Article',
    headline: facts.title,
    description: facts.description,
    image: [new URL(facts.image, origin).href],
    mainEntityOfPage: `${origin}${facts.path}`,
    author: publisher,
    publisher,
  }
}

interface Opening {
  id: string
  title: string
  description: string
}

/** An open position. Source: schema.org/JobPosting; remote positions need applicantLocationRequirements. */
export function jobPosting({ id, title, description }: Opening, settings: SiteSettings) {
  const { origin } = window.location
  return {
    '@type': 'JobPosting',
    identifier: { '@type': 'PropertyValue', name: settings.siteName, value: id },
    title,
    description,
    employmentType: 'FULL_TIME',
    jobLocationType: 'TELECOMMUTE',
    applicantLocationRequirements: { '@type': 'Country', name: 'Worldwide' },
    hiringOrganization: {
      '@type': 'Organization',
      name: settings.siteName,
      sameAs: `${origin}/`,
    },
    directApply: true,
    url: `${origin}/careers#job-application`,
  }
}
