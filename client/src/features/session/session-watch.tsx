import type { Session } from '@supabase/supabase-js'
import { useEffect } from 'react'

import { watchSession } from './watch'

/** Watches the signed-in user's session as long as it is mounted. Renders nothing. */
export default function SessionWatch({ session }: { session: Session }) {
  const userId = session.user.id

  // A refreshed token continues the same session.
  // eslint-disable-next-line react-hooks/exhaustive-deps
  useEffect(() => watchSession(session), [userId])

  return null
}
