import { csrfToken } from '@/lib/forms/csrf-token'
import { NEWSLETTER } from '@/lib/constants'
import { memoryLimiter } from '@/lib/forms/rate-limit'
import { currentUserId } from '@/lib/session/session'
import { getSupabase } from '@/lib/supabase/get-supabase'

import { lookUpIp } from './ip-lookup'

export { newsletterSchema } from './schema'

export type Outcome = 'subscribed' | 'duplicate' | 'unavailable' | 'failed' | 'offline'

/** Postgres' code for a value that is there already. */
const UNIQUE_VIOLATION = '23505'
/** PostgREST's code for a token that it cannot verify. */
const BAD_TOKEN = 'PGRST301'

/** Footer and popup share one limit: both write to the same list. */
const limiter = memoryLimiter(NEWSLETTER.rateLimit)

/** Returns whether another attempt may be made now; counts it if so. */
export function mayAttempt() {
  return limiter.attempt() === 0
}

interface Subscription {
  email: string
  /** Whether to send the anti-forgery token along; the footer does. */
  hasToken: boolean
}

/** Adds the address to the list, for the signed-in user if there is one. */
export async function subscribe({ email, hasToken }: Subscription): Promise<Outcome> {
  try {
    const [supabase, ip] = await Promise.all([getSupabase(), lookUpIp()])
    const { error, status } = await supabase.from('newsletter_subscriptions').insert({
      email: email.trim().toLowerCase(),
      consent_given: true,
      ip_address: ip,
      user_id: currentUserId(),
      ...(hasToken && { csrf_token: csrfToken() }),
    })
    if (!error) return 'subscribed'
    if (error.code === UNIQUE_VIOLATION) return 'duplicate'
    if (error.code === BAD_TOKEN) return 'unavailable'
    // The client reports a missing response with status 0.
    return status === 0 ? 'offline' : 'failed'
  } catch (error) {
    console.error('The newsletter could not be subscribed:', error)
    return 'offline'
  }
}
