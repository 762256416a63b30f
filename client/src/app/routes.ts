import type { PageTitles } from '@/lib/content/default-settings'

// By its path and not by "@": the build imports this table before the alias exists.
import { ARTICLES } from '../features/article/articles.ts'

/** One of the site's routes, with the constants of its page. */
export interface Route {
  /** The path; `*` for all unknown ones. */
  path: string
  /** The file in `pages/` that shows it. */
  page: string
  /** The page's name in the setting page_titles; absent if the settings cannot rename it. */
  title?: keyof PageTitles
  /** The description for search engines and link previews; articles use the beginning of their text. */
  description?: string
  /** Whether search engines should not list the page. */
  isHidden?: boolean
  /** Whether the page has no floating widgets. */
  isBare?: boolean
  /** Whether this is the page on which visitors of a closed site enter its password. */
  isGate?: boolean
}

/** The route of all unknown paths. */
export const NOT_FOUND: Route = {
  path: '*',
  page: 'not-found',
  title: 'not_found',
  isHidden: true,
}

/** The table of the site's routes, which the browser, the pages' heads and the first screens use. */
export const ROUTES: readonly Route[] = [
  {
    path: '/',
    page: 'home',
    title: 'home',
    description:
      'Terrace gives sports clubs their own swipeable fan app: white-label, brand-exclusive, with points, a payment card and guaranteed revenue. Financed, built and run for you.',
  },
  {
    path: '/about',
    page: 'about',
    title: 'about',
    description:
      'Who builds Terrace, who backs it, and the road from a question on a night train to the first partner clubs.',
  },
  {
    path: '/careers',
    page: 'careers',
    title: 'careers',
    description:
      'Join the founding team of Terrace: AI-first, remote-only work on the fan app that belongs to the club. See the open roles and apply.',
  },
  {
    path: '/privacy',
    page: 'legal',
    title: 'privacy',
    description:
      'What Terrace does with personal data on this website, why, for how long, and the rights that you have.',
  },
  {
    path: '/cookies',
    page: 'legal',
    title: 'cookies',
    description:
      'The cookies that this website uses, what each is for, how long it stays, and how to change your choice.',
  },
  {
    path: '/imprint',
    page: 'legal',
    title: 'imprint',
    description:
      'The company behind Terrace: address, management, commercial register and editorial responsibility.',
  },
  ...ARTICLES.map(({ link }) => ({ path: link, page: 'article' })),
  {
    path: '/auth',
    page: 'auth',
    description: 'Sign in to Terrace.',
    isHidden: true,
    isBare: true,
  },
  {
    path: '/password',
    page: 'password',
    title: 'password',
    description: 'This site is protected by a password.',
    isHidden: true,
    isBare: true,
    isGate: true,
  },
  NOT_FOUND,
]

/** Returns the path without trailing slashes. */
export function canonicalPath(pathname: string) {
  return pathname.replace(/\/+$/, '') || '/'
}

/** Returns the route of the page at `pathname`. */
export function routeOf(pathname: string) {
  const path = canonicalPath(pathname)
  return ROUTES.find((route) => route.path === path) ?? NOT_FOUND
}
