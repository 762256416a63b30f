import type { SiteSettings } from '@/lib/content/site-settings'

/** The settings, and the site's address. */
export type Site = SiteSettings & { origin: string }

/** Returns the site with the address that this browser uses. */
export function siteOf(settings: SiteSettings): Site {
  return { ...settings, origin: window.location.origin }
}

/** Returns the organisation behind the site. Source: schema.org/Organization. */
export function organization(site: Site) {
  return {
    '@type': 'Organization',
    '@id': `${site.origin}/#organization`,
    name: site.siteName,
    url: `${site.origin}/`,
    description: site.siteDescription,
    logo: `${site.origin}/icon-512.png`,
    email: site.contactEmail,
    telephone: site.contactPhone,
    sameAs: [site.linkedinUrl],
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
  /** Absolute address. */
  image: string
  path: string
}

/** Returns an article of the site's blog. Source: schema.org/Article. */
export function article(facts: ArticleFacts, site: Site) {
  const publisher = { '@type': 'Organization', name: site.siteName, url: `${site.origin}/` }
  return {
    '@type': 'Article',
    headline: facts.title,
    description: facts.description,
    image: [facts.image],
    mainEntityOfPage: `${site.origin}${facts.path}`,
    author: publisher,
    publisher,
  }
}

interface Opening {
  id: string
  title: string
  description: string
  /** The date since which it is open (ISO 8601). */
  created_at: string
}

/** Returns an open position. Source: schema.org/JobPosting; remote positions need applicantLocationRequirements. */
export function jobPosting({ id, title, description, created_at }: Opening, site: Site) {
  return {
    '@type': 'JobPosting',
    identifier: { '@type': 'PropertyValue', name: site.siteName, value: id },
    title,
    description,
    datePosted: created_at,
    employmentType: 'FULL_TIME',
    jobLocationType: 'TELECOMMUTE',
    applicantLocationRequirements: { '@type': 'Country', name: 'Worldwide' },
    hiringOrganization: {
      '@type': 'Organization',
      name: site.siteName,
      sameAs: `${site.origin}/`,
    },
    directApply: true,
    url: `${site.origin}/careers#job-application`,
  }
}
