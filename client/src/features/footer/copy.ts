import { SECTION } from '@/lib/sections'

export const copy = {
  pitch: 'The fan app that carries your name.',
  quickLinks: 'Quick links',
  sections: [
    { section: SECTION.problem, label: 'The Challenge' },
    { section: SECTION.solution, label: 'Why Us' },
    { section: SECTION.benefits, label: 'Brand Benefits' },
    { section: SECTION.blog, label: 'Insights' },
    { section: SECTION.faq, label: 'FAQ' },
    { section: SECTION.contact, label: 'Contact' },
  ],
  latest: 'Latest insights',
  company: 'Company',
  companyLinks: [
    { to: '/about', label: 'About' },
    { to: '/careers', label: 'Careers' },
    { to: '/imprint', label: 'Imprint' },
  ],
  contact: 'Get in Touch',
  network: 'LinkedIn',
  copyright: (year: number) => `© ${year} Terrace. All rights reserved.`,
  cookieSettings: 'Cookie Settings',
  legalLinks: [
    { to: '/privacy', label: 'Privacy Policy' },
    { to: '/cookies', label: 'Cookie Policy' },
  ],
} as const
