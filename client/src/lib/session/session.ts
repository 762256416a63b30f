import type { AuthChangeEvent, Session } from '@supabase/supabase-js'
import { useSyncExternalStore } from 'react'

import { hasStoredSession } from './auth-storage'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'
import { getSupabase } from '@/lib/supabase/get-supabase'

/** The session; null for visitors, undefined while that is not known yet. */
type SessionState = Session | null | undefined

type SessionListener = (event: AuthChangeEvent, session: Session | null) => void

let state: SessionState
let starting: Promise<void> | undefined
const listeners = new Set<() => void>()
const eventListeners = new Set<SessionListener>()

function set(next: SessionState) {
  state = next
  for (const listener of listeners) listener()
}

async function start() {
  try {
    const { auth } = await getSupabase()
    const { data, error } = await auth.getSession()
    if (error) notify.error(messages.session.unreadable)
    set(error ? null : data.session)
    auth.onAuthStateChange((event, session) => {
      set(session)
      for (const listener of eventListeners) listener(event, session)
    })
  } catch (error) {
    console.error('Authentication could not be started:', error)
    notify.error(messages.session.uninitialized)
    set(null)
    // Whoever asks next tries again.
    starting = undefined
  }
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  starting ??= start()
  return () => void listeners.delete(listener)
}

function snapshot() {
  // Without a stored session nobody is signed in; this is known before the client is loaded.
  if (state === undefined && !starting && !hasStoredSession()) state = null
  return state
}

/** Returns the signed-in visitor's session; follows sign-in and sign-out, in other tabs too. */
export function useSession(): SessionState {
  return useSyncExternalStore(subscribe, snapshot, () => undefined)
}

/** Returns the id of the signed-in user, or null. */
export function currentUserId() {
  return state?.user.id ?? null
}

/** Calls `listener` at every event of the session (SIGNED_IN, TOKEN_REFRESHED, …). Returns how to stop that. */
export function onSessionEvent(listener: SessionListener) {
  eventListeners.add(listener)
  return () => void eventListeners.delete(listener)
}
