import { Navigate, Outlet, useLocation } from 'react-router-dom'

import { isSiteAuthenticated } from '@/lib/session/gate'
import { usePasswordProtection } from '@/lib/content/password-protection'

/**
 * Redirects visitors to the password gate if the site has one and they have not passed it. The page is shown while this is
 * being found out: most sites have no gate, and its content can be read from the API anyway.
 */
export function RequirePassword() {
  const { pathname, search, hash } = useLocation()
  const protection = usePasswordProtection()
  if (protection !== 'on' || isSiteAuthenticated()) return <Outlet />
  return <Navigate to="/password" replace state={{ from: `${pathname}${search}${hash}` }} />
}
