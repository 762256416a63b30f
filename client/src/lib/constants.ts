/**
 * The site's business constants. Times are milliseconds, lengths are characters, distances are CSS pixels.
 */

export const TYPEWRITER = { typeMs: 50, deleteMs: 30, pauseMs: 3000 } as const

export const HEADER_SCROLL_THRESHOLD = 10

export const HASH_SCROLL = { offset: 80, firstDelayMs: 200 } as const

/** The video element may be mounted later than its source is known; this is how long it is looked for. */
export const VIDEO_ELEMENT_RETRY = { attempts: 30, intervalMs: 100 } as const

export const SKELETONS = { testimonials: 4, posts: 6 } as const

export const TESTIMONIAL_STAGGER_MS = 100

export const RECENT_POSTS = { limit: 6, titleLength: 30, smallScreenTitleLength: 40 } as const
