import { readLocal, writeLocal } from '@/lib/browser/browser-storage'

/** At most `max` attempts within any `windowMs` milliseconds. */
interface Limit {
  max: number
  windowMs: number
}

/** Where the times of past attempts are kept. */
interface AttemptLog {
  read: () => number[]
  write: (attempts: number[]) => void
}

/** Counts a browser's attempts. It spares honest visitors a refusal by the server, which has limits of its own. */
class RateLimiter {
  readonly #limit: Limit
  readonly #log: AttemptLog

  constructor(limit: Limit, log: AttemptLog) {
    this.#limit = limit
    this.#log = log
  }

  /**
   * Records an attempt at the time `now`. Returns 0 if it is within the limit, else the milliseconds until
   * another one may be made; a refused attempt is not recorded.
   */
  attempt(now = Date.now()) {
    const { max, windowMs } = this.#limit
    const recent = this.#log.read().filter((time) => time > now - windowMs && time <= now)
    const oldest = recent.at(-max)
    if (oldest !== undefined) return oldest + windowMs - now
    this.#log.write([...recent, now])
    return 0
  }
}

/** Returns a limit for as long as the page is open. */
export function memoryLimiter(limit: Limit) {
  let attempts: number[] = []
  return new RateLimiter(limit, {
    read: () => attempts,
    write: (next) => {
      attempts = next
    },
  })
}

function parseAttempts(text: string | null): number[] {
  try {
    const parsed: unknown = JSON.parse(text ?? '[]')
    return Array.isArray(parsed) ? parsed.filter((time) => typeof time === 'number') : []
  } catch {
    return []
  }
}

/** Returns a limit that is stored in local storage under `key`, or in memory if the browser refuses that. */
export function localLimiter(key: string, limit: Limit) {
  let kept: number[] = []
  return new RateLimiter(limit, {
    read: () => {
      const stored = readLocal(key)
      return stored === null ? kept : parseAttempts(stored)
    },
    write: (attempts) => {
      kept = writeLocal(key, JSON.stringify(attempts)) ? [] : attempts
    },
  })
}

/** Returns `ms` milliseconds in minutes, rounded up, for messages. */
export function minutesLeft(ms: number) {
  return Math.max(1, Math.ceil(ms / 60_000))
}
