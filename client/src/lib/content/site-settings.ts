import { getSupabase, type Supabase } from '@/lib/supabase/get-supabase'
import { DEFAULT_SETTINGS, FAVICONS, PAGE_TITLES } from './default-settings'
import type { Favicons, PageTitles } from './default-settings'
import { storedFileUrl } from '@/lib/supabase/storage-url'

/** The site's settings, from the settings table. Addresses of files are complete URLs. */
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

type SettingKey = keyof typeof DEFAULT_SETTINGS
type SettingValues = Record<SettingKey, string>

/** PostgREST's code for a read of one row that found none. */
const NOT_FOUND = 'PGRST116'

function unquote(value: string) {
  return value
    .trim()
    .replace(/^"([\s\S]*)"$|^'([\s\S]*)'$/, (_, double, single) => String(double ?? single))
}

async function createSetting(supabase: Supabase, key: SettingKey) {
  const { error } = await supabase.from('settings').insert({ key, ...DEFAULT_SETTINGS[key] })
  if (error) console.error(`Setting "${key}" is missing and could not be created:`, error.message)
}

async function readSetting(supabase: Supabase, key: SettingKey): Promise<string> {
  const { category, value } = DEFAULT_SETTINGS[key]
  const { data, error } = await supabase
    .from('settings')
    .select('value')
    .eq('key', key)
    .eq('category', category)
    .single()
  if (!error) return unquote(data.value)
  if (error.code === NOT_FOUND) await createSetting(supabase, key)
  else console.error(`Setting "${key}" could not be read:`, error.message)
  return value
}

/** Returns `defaults` with the texts in `stored`, a JSON object; unreadable and unknown ones are ignored. */
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

/** Returns an icon's address: one of the site's own files if it starts with a slash, else a file in a bucket. */
function iconUrl(value: string) {
  return value.startsWith('/') ? value : storedFileUrl(value, 'app')
}

/** Parses the site's settings from the texts of the settings table. */
function parseSettings(values: SettingValues): SiteSettings {
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

/** Reads every setting and creates missing ones. Never rejects: unreadable settings have their defaults. */
export async function loadSiteSettings(): Promise<SiteSettings> {
  try {
    const supabase = await getSupabase()
    const read = SETTING_KEYS.map(async (key) => [key, await readSetting(supabase, key)] as const)
    return parseSettings(settingValues(await Promise.all(read)))
  } catch (error) {
    console.error('The settings could not be read:', error)
    return DEFAULT_SITE_SETTINGS
  }
}
