import { SECTION } from '@/lib/sections'

export const copy = {
  home: 'Terrace, to the top of the home page',
  menu: 'Menu',
  openMenu: 'Open menu',
  closeMenu: 'Close menu',
  mainNavigation: 'Main',
  demo: 'Book a demo',
  login: 'Login',
  profile: 'Profile',
  links: [
    { section: SECTION.problem, label: 'The Challenge' },
    { section: SECTION.solution, label: 'Why Terrace' },
    { section: SECTION.benefits, label: 'Brand Benefits' },
    { section: SECTION.blog, label: 'Insights' },
    { section: SECTION.faq, label: 'FAQ' },
    { section: SECTION.contact, label: 'Contact' },
  ],
} as const
