import type { Session } from '@supabase/supabase-js'

import { getSupabase } from '@/lib/supabase/get-supabase'

/** Returns whether the session has all of its parts and its access token has not expired. `now` is in milliseconds. */
export function isCompleteSession(session: Session, now = Date.now()) {
  const { access_token, refresh_token, expires_at } = session as Partial<Session>
  return Boolean(access_token && refresh_token && expires_at) && Number(expires_at) * 1000 > now
}

/** Reports whether the user's session is still valid on the server. Rejects if the server cannot be reached. */
export async function isIntactSession(userId: string) {
  const supabase = await getSupabase()
  const { data, error } = await supabase.rpc('validate_session_integrity', { user_id: userId })
  if (error) throw new Error(error.message)
  return data
}

/** Returns the id of the access token's session; the user's id if the token has none. */
export function sessionId({ access_token, user }: Session) {
  try {
    const payload = access_token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? ''
    const claims: unknown = JSON.parse(atob(payload))
    const hasId = typeof claims === 'object' && claims !== null && 'session_id' in claims
    return hasId && typeof claims.session_id === 'string' ? claims.session_id : user.id
  } catch {
    return user.id
  }
}
