import type { Session } from '@supabase/supabase-js'

import { SESSION } from '@/lib/constants'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'
import { onSessionEvent } from '@/lib/session/session'
import { isCompleteSession, isIntactSession, sessionId } from '@/lib/session/session-integrity'
import { getSupabase } from '@/lib/supabase/get-supabase'

import { watchActivity } from './activity'
import { forgetFingerprint, isSameBrowser } from './fingerprint'

/** Ends the session and says why. */
async function end() {
  notify.error(messages.session.ended)
  forgetFingerprint()
  const { auth } = await getSupabase()
  await auth.signOut()
}

/** Returns the whole minutes until a user who is idle since `idleSince` is signed out; 0 after that time. */
export function minutesUntilEnd(idleSince: number, now: number) {
  const left = idleSince + SESSION.inactivityMs - now
  return left <= 0 ? 0 : Math.ceil(left / 60_000)
}

/** Reports whether the session is valid; also true if the server cannot be reached, since that is no sign of misuse. */
async function isIntactOrUnknown(userId: string) {
  try {
    return await isIntactSession(userId)
  } catch (error) {
    console.error('The integrity of the session could not be checked:', error)
    return true
  }
}

/** Checks a session after sign-in and when a page is opened: its parts, the browser, the server's answer. */
async function isTrustworthy(session: Session) {
  return (
    isCompleteSession(session) &&
    (await isSameBrowser(sessionId(session))) &&
    (await isIntactOrUnknown(session.user.id))
  )
}

/**
 * Watches over a session until `stop` is called: ends it after half an hour without activity, in another
 * browser than it was begun in, or when the server no longer accepts it; warns in the last five minutes.
 */
export function watchSession(session: Session) {
  const activity = watchActivity()
  const id = sessionId(session)
  let isOver = false

  const finish = () => {
    if (isOver) return
    stop()
    void end()
  }
  const check = async () => {
    const minutes = minutesUntilEnd(activity.idleSince(), Date.now())
    if (minutes === 0 || !(await isSameBrowser(id))) {
      finish()
      return
    }
    if (!isOver && minutes * 60_000 <= SESSION.warningMs)
      notify.warning(messages.session.expiresIn(minutes))
  }
  const verify = async (current: Session) => {
    if (!(await isTrustworthy(current))) finish()
  }

  const timer = setInterval(() => void check(), SESSION.checkIntervalMs)
  const stopEvents = onSessionEvent((event, current) => {
    if (event === 'SIGNED_OUT') forgetFingerprint()
    // Supabase sends SIGNED_IN again whenever the tab becomes visible.
    if (event === 'SIGNED_IN' && current) void verify(current)
  })
  void verify(session)

  function stop() {
    isOver = true
    clearInterval(timer)
    activity.stop()
    stopEvents()
  }
  return stop
}
