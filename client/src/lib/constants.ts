/**
 * The site's business constants, all in one place. Times are milliseconds, lengths are characters, distances
 * are CSS pixels, unless a name says otherwise.
 */

const SECOND = 1000
const MINUTE = 60 * SECOND
const DAY = 24 * 60 * MINUTE

export const SESSION = {
  inactivityMs: 30 * MINUTE,
  checkIntervalMs: 60 * SECOND,
  /** How long before the end of the allowance a visitor is warned. */
  warningMs: 5 * MINUTE,
  activityEvents: ['mousemove', 'keydown', 'scroll', 'click', 'touchstart', 'focus'],
} as const

/** Delays between attempts to reconnect; the last one repeats. */
const RECONNECT_MS = [1 * SECOND, 2 * SECOND, 5 * SECOND, 10 * SECOND] as const

export const REALTIME = {
  heartbeatMs: 30 * SECOND,
  timeoutMs: 30 * SECOND,
  reconnectAfterMs: (tries: number) => RECONNECT_MS[tries - 1] ?? 10 * SECOND,
} as const

/** The schema that all tables are read from. */
export const DATABASE_SCHEMA = 'public'

export const TYPEWRITER = {
  typeMs: 50,
  deleteMs: 30,
  pauseMs: 3000,
  /** How long the stored phrases are waited for before the fallback phrases are used. */
  patienceMs: 1500,
} as const

/** Narrower screens have the phone's menu and layout. */
export const MOBILE_BREAKPOINT = 768

export const HEADER_SCROLL_THRESHOLD = 10

export const HASH_SCROLL = { offset: 80, firstDelayMs: 200, contentLimitMs: 5000 } as const

export const CONTACT = {
  name: { min: 2, max: 100 },
  company: { min: 2, max: 200 },
  email: { max: 254 },
  message: { max: 2000 },
  rateLimit: { max: 3, windowMs: 10 * MINUTE },
} as const

export const NEWSLETTER = {
  email: { min: 5, max: 254 },
  rateLimit: { max: 2, windowMs: 5 * MINUTE },
  subscribedMs: 3 * SECOND,
} as const

export const APPLICATION = {
  name: { min: 2, max: 100 },
  email: { max: 254 },
  message: { max: 2000, rows: 5 },
  rateLimit: { key: 'job_application', max: 2, windowMs: 10 * MINUTE },
} as const

export const CHAT = {
  inputMax: 1000,
  appearMs: 2 * SECOND,
  replyDelayMs: 300,
  panelHeight: '30rem',
} as const

export const COOKIE_BANNER_DELAY_MS = 500

/** How long a toast is shown. */
export const TOAST_MS = 5 * SECOND

export const POPUP = { delayMs: 20 * SECOND, scrollShare: 0.3, exitDistance: 5 } as const

export const CSRF_TOKEN_BYTES = 32

export const PROFILE_TIMEOUT_MS = 8 * SECOND

export const IP_LOOKUP = {
  url: 'https://api.ipify.org?format=json',
  timeoutMs: 3 * SECOND,
} as const

export const PASSWORD_MAX_AGE_MS = 90 * DAY

export const LOGOUT_DELAY_MS = 300

export const GATE = {
  redirectDelayMs: 100,
  /** The account that everybody who knows the site's password shares. */
  account: 'site-access@terrace.example',
} as const

export const RECENT_POSTS = { limit: 6, titleLength: 30, smallScreenTitleLength: 40 } as const

export const SKELETONS = {
  testimonials: 4,
  posts: 6,
  leadership: 3,
  investors: 2,
  timeline: 4,
  jobRoles: 4,
  articleLines: 5,
} as const

export const TESTIMONIAL_STAGGER_MS = 100

export const TIMELINE_STAGGER_MS = 100

/** The video element may be mounted later than its source is known; this is how long it is looked for. */
export const VIDEO_ELEMENT_RETRY = { attempts: 30, intervalMs: 100 } as const

/** Paragraphs of an article are separated by blank lines. */
export const PARAGRAPH_SEPARATOR = /\r?\n[ \t]*\r?\n/

/** The demo's video and its first picture: bucket and path, without the ending of either. */
export const DEMO_FILE = 'app/demo-20250514'
