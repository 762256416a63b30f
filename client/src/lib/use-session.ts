import type { Session } from '@supabase/supabase-js'
import { useEffect, useState } from 'react'

import { getSupabase } from './supabase'

/** The signed-in visitor's session, or null; follows sign-in and sign-out, in other tabs too. */
export function useSession() {
  const [session, setSession] = useState<Session | null>(null)
  useEffect(() => {
    let isMounted = true
    let stop: (() => void) | undefined
    void getSupabase().then(({ auth }) => {
      if (!isMounted) return
      const { data } = auth.onAuthStateChange((_event, next) => setSession(next))
      stop = () => data.subscription.unsubscribe()
    })
    return () => {
      isMounted = false
      stop?.()
    }
  }, [])
  return session
}
