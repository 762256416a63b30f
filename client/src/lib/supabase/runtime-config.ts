/** The backend's URL, its public key, and its capabilities. */
interface RuntimeConfig {
  url: string
  key: string
  /** Whether it announces changes through realtime channels. */
  hasChannels: boolean
  /** Whether its storage may render pictures in other sizes. */
  hasImages: boolean
}

/** What a server writes into the page; unknown until it is looked at. */
type PageConfig = Partial<Record<'url' | 'key' | 'channels' | 'images', unknown>>

/** Values of the build, which are used if no server writes values into the page. */
interface BuildConfig extends Record<string, unknown> {
  VITE_SUPABASE_URL?: string | undefined
  VITE_SUPABASE_ANON_KEY?: string | undefined
}

const ELEMENT_ID = 'basalt-config'
const PLACEHOLDER = /^%[A-Z_]+%$/

function readPage(page: Document | undefined): PageConfig {
  const text = page?.getElementById(ELEMENT_ID)?.textContent
  if (!text) return {}
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : {}
  } catch {
    console.error(`#${ELEMENT_ID} does not hold JSON; using the build's settings instead.`)
    return {}
  }
}

function filled(value: unknown) {
  return typeof value === 'string' && value !== '' && !PLACEHOLDER.test(value) ? value : undefined
}

/**
 * Returns the backend's address and public key.
 *
 * A server that serves the page writes them into the JSON block `#basalt-config`, so one build runs
 * anywhere. Where they are still placeholders (Vite's dev server, any static host) the build's
 * `VITE_SUPABASE_URL` and `VITE_SUPABASE_ANON_KEY` count; the address is the page's own by default. There is no page
 * while first screens are rendered at build time.
 */
export function readRuntimeConfig(page: Document | undefined, build: BuildConfig): RuntimeConfig {
  const injected = readPage(page)
  const url = filled(injected.url) ?? filled(build.VITE_SUPABASE_URL) ?? page?.location.origin ?? ''
  const key = filled(injected.key) ?? filled(build.VITE_SUPABASE_ANON_KEY)
  if (!key && page) {
    console.error('No API key: set VITE_SUPABASE_ANON_KEY, or serve the page with Basalt.')
  }
  const hasChannels = injected.channels !== false
  const hasImages = injected.images !== false
  return { url: url.replace(/\/+$/, ''), key: key ?? 'no-api-key', hasChannels, hasImages }
}
