import { storedFileUrl } from './storage-url'
import { content } from './content'

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

/** What the settings table says about the whole site. Addresses of files are ready to use. */
export interface SiteSettings {
  siteName: string
  siteDescription: string
  pageTitles: PageTitles
  favicons: Favicons
  ogImage: string
  linkedinUrl: string
  contactPhone: string
  contactEmail: string
}

interface Setting {
  category: 'site' | 'app'
  description: string
  value: string
}

const PAGE_TITLES: PageTitles = {
  home: 'Digital Assets & Viewing Experience',
  about: 'About Us',
  careers: 'Careers',
  privacy: 'Privacy Policy',
  cookies: 'Cookie Policy',
  imprint: 'Imprint',
  password: 'Enter Password',
  not_found: 'Page Not Found',
}

const FAVICONS: Favicons = {
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

type SettingKey = keyof typeof DEFAULT_SETTINGS
type SettingValues = Record<SettingKey, string>

/** PostgREST's code for a read of one row that found none. */
const NOT_FOUND = 'PGRST116'

function unquote(value: string) {
  return value
    .trim()
    .replace(/^"([\s\S]*)"$|^'([\s\S]*)'$/, (_, double, single) => String(double ?? single))
}

async function createSetting(key: SettingKey) {
  const { error } = await content.from('settings').insert({ key, ...DEFAULT_SETTINGS[key] })
  if (error) console.error(`Setting "${key}" is missing and could not be created:`, error.message)
}

async function readSetting(key: SettingKey): Promise<string> {
  const { category, value } = DEFAULT_SETTINGS[key]
  const { data, error } = await content
    .from('settings')
    .select('value')
    .eq('key', key)
    .eq('category', category)
    .single()
  if (!error) return unquote(data.value)
  if (error.code === NOT_FOUND) await createSetting(key)
  else console.error(`Setting "${key}" could not be read:`, error.message)
  return value
}

/** The texts in `stored`, a JSON object, over those of `defaults`; what is unreadable or unknown is left out. */
function withDefaults<T extends object>(defaults: T, stored: string): T {
  try {
    const parsed: unknown = JSON.parse(stored)
    if (typeof parsed !== 'object' || parsed === null) return defaults
    const texts = Object.entries(parsed).filter(
      ([name, value]) => name in defaults && typeof value === 'string' && value !== '',
    )
    return { ...defaults, ...Object.fromEntries(texts) }
  } catch {
    return defaults
  }
}

/** An icon's address: one of the site's own files if it starts with a slash, else a file in a bucket. */
function iconUrl(value: string) {
  return value.startsWith('/') ? value : storedFileUrl(value, 'app')
}

/** The site's settings as texts of the settings table say. */
export function parseSettings(values: SettingValues): SiteSettings {
  const icons = withDefaults(FAVICONS, values.favicons)
  return {
    siteName: values.site_name,
    siteDescription: values.site_description,
    pageTitles: withDefaults(PAGE_TITLES, values.page_titles),
    favicons: {
      favicon: iconUrl(icons.favicon),
      apple_touch_icon: iconUrl(icons.apple_touch_icon),
      manifest: iconUrl(icons.manifest),
    },
    ogImage: storedFileUrl(values.og_image, 'other'),
    linkedinUrl: values.linkedin_url,
    contactPhone: values.contact_phone,
    contactEmail: values.contact_email,
  }
}

const SETTING_KEYS = Object.keys(DEFAULT_SETTINGS) as SettingKey[]

function settingValues(entries: (readonly [SettingKey, string])[]) {
  return Object.fromEntries(entries) as SettingValues
}

/** What the site shows until the settings are read, and wherever they cannot be. */
export const DEFAULT_SITE_SETTINGS = parseSettings(
  settingValues(SETTING_KEYS.map((key) => [key, DEFAULT_SETTINGS[key].value])),
)

/** Reads every setting and creates those that are missing. Never fails: what is unreadable has its default. */
export async function loadSiteSettings(): Promise<SiteSettings> {
  const read = SETTING_KEYS.map(async (key) => [key, await readSetting(key)] as const)
  return parseSettings(settingValues(await Promise.all(read)))
}
