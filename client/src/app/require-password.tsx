import type { ReactNode } from 'react'
import { Navigate, useLocation } from 'react-router-dom'

import { isSiteAuthenticated } from '@/lib/session/gate'
import { usePasswordProtection } from '@/lib/content/password-protection'
import { wasScreenServed } from '@/lib/loading/served-screen'

/**
 * Redirects visitors to the password gate if the site has one and they have not passed it. Nothing of a page is shown
 * before that is known. Where the server has sent a first screen it is known from the start: a closed site has none.
 */
export function RequirePassword({ children }: { children: ReactNode }) {
  const { pathname, search, hash } = useLocation()
  const protection = usePasswordProtection()
  if (isSiteAuthenticated()) return children
  if (protection === 'on')
    return <Navigate to="/password" replace state={{ from: `${pathname}${search}${hash}` }} />
  if (protection === 'checking' && !wasScreenServed()) return <div className="min-h-dvh bg-paper" />
  return children
}
