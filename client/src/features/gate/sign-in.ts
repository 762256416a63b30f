import { GATE } from '@/lib/constants'

/**
 * Whether the password is the site's: it is if the shared account can sign in with it. That session is ended
 * at once; whoever knows the password stays a visitor.
 *
 * Throws if that cannot be found out.
 */
export async function isSitePassword(password: string) {
  const { createPassingClient } = await import('@/lib/supabase/client')
  const { auth } = createPassingClient()
  const { error } = await auth.signInWithPassword({ email: GATE.account, password })
  if (!error) {
    await auth.signOut({ scope: 'local' })
    return true
  }
  if (error.status === 400) return false
  throw error
}
