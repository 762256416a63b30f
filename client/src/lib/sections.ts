/** Ids of the sections that links and buttons lead to. */
export const SECTION = {
  problem: 'problem',
  solution: 'solution',
  testimonials: 'testimonials',
  benefits: 'benefits',
  urgent: 'urgent',
  blog: 'blog',
  faq: 'faq',
  contact: 'contact',
  jobs: 'jobs',
  application: 'job-application',
} as const

/** A section of the home page. */
export type SectionId = Exclude<(typeof SECTION)[keyof typeof SECTION], 'jobs' | 'job-application'>
