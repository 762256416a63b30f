import type { Session } from '@supabase/supabase-js'
import { useEffect, useState } from 'react'

import { supabase } from './supabase'

/** The signed-in visitor's session, or null; follows sign-in and sign-out, in other tabs too. */
export function useSession() {
  const [session, setSession] = useState<Session | null>(null)
  useEffect(() => {
    const { data } = supabase.auth.onAuthStateChange((_event, next) => setSession(next))
    return () => data.subscription.unsubscribe()
  }, [])
  return session
}
