// Imports nothing: the build reads it, too.

/** Titles of the pages that the settings table can rename. */
export interface PageTitles {
  home: string
  about: string
  careers: string
  privacy: string
  cookies: string
  imprint: string
  password: string
  not_found: string
}

/** Addresses of the site's icons. */
export interface Favicons {
  favicon: string
  apple_touch_icon: string
  manifest: string
}

interface Setting {
  category: 'site' | 'app'
  description: string
  value: string
}

export const PAGE_TITLES: PageTitles = {
  home: 'Digital Assets & Viewing Experience',
  about: 'About Us',
  careers: 'Careers',
  privacy: 'Privacy Policy',
  cookies: 'Cookie Policy',
  imprint: 'Imprint',
  password: 'Enter Password',
  not_found: 'Page Not Found',
}

export const FAVICONS: Favicons = {
  favicon: '/favicon.ico',
  apple_touch_icon: '/apple-touch-icon.png',
  manifest: '/site.webmanifest',
}

/**
 * Every setting that the site expects, as it is created where it is missing. The database takes exactly
 * these rows from visitors and no others: they repeat the table setting_defaults word for word.
 */
export const DEFAULT_SETTINGS = {
  site_name: {
    category: 'site',
    description: 'Name of the site, the second half of every browser tab title.',
    value: 'The First Brand-Exclusive Content-Media APP',
  },
  site_description: {
    category: 'site',
    description: 'Description of the site for search engines and link previews.',
    value:
      'A white-label, brand-exclusive content and fan-engagement platform for sports brands and clubs.',
  },
  page_titles: {
    category: 'site',
    description: 'Browser tab title of each page, as a JSON object.',
    value: JSON.stringify(PAGE_TITLES),
  },
  favicons: {
    category: 'site',
    description:
      'Paths of the icons and the web manifest, as a JSON object. A path without a leading slash is bucket/path in storage.',
    value: JSON.stringify(FAVICONS),
  },
  og_image: {
    category: 'site',
    description:
      'Picture shown when a page is shared, as bucket/path in storage; the bucket defaults to other.',
    value: 'other/terrace-social.png',
  },
  linkedin_url: {
    category: 'site',
    description: 'Address of the company page that the footer links to.',
    value: 'https://linkedin.example/company/terrace',
  },
  contact_phone: {
    category: 'site',
    description: 'Phone number in the footer and the legal pages.',
    value: '+44 20 7946 0182',
  },
  contact_email: {
    category: 'site',
    description: 'E-mail address in the footer and the legal pages.',
    value: 'hello@terrace.example',
  },
  password_protection: {
    category: 'app',
    description: 'Password gate in front of the whole site: 1 enabled, 0 disabled.',
    value: '0',
  },
} satisfies Record<string, Setting>
