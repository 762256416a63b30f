import { Navigate, Outlet, useLocation } from 'react-router-dom'

import { isSiteAuthenticated } from '@/lib/session/gate'
import { usePasswordProtection } from '@/lib/content/password-protection'

/**
 * Sends visitors to the password gate where the site is behind one and does not know them yet. While that is
 * being read the page shows: most sites have no gate, and what a page shows is no secret to its server's API.
 */
export function RequirePassword() {
  const { pathname, search, hash } = useLocation()
  const protection = usePasswordProtection()
  if (protection !== 'on' || isSiteAuthenticated()) return <Outlet />
  return <Navigate to="/password" replace state={{ from: `${pathname}${search}${hash}` }} />
}
