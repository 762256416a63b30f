/** Ids of the home page's sections that links point to. */
export const SECTION = {
  problem: 'problem',
  solution: 'solution',
  testimonials: 'testimonials',
  benefits: 'benefits',
  urgent: 'urgent',
  blog: 'blog',
  faq: 'faq',
  contact: 'contact',
} as const

export type SectionId = (typeof SECTION)[keyof typeof SECTION]
