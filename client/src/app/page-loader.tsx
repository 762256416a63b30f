import { useEffect } from 'react'
import { useNavigate } from 'react-router-dom'

import { recover } from '@/lib/loading/load-part'

import { isPageLoaded, loadPage } from './pages'

/** Returns the address of the site's own page that the click leads to in this window; null if there is none. */
function addressOf({ target, button, metaKey, ctrlKey, shiftKey, altKey }: MouseEvent) {
  const link = target instanceof Element && target.closest<HTMLAnchorElement>('a[href]')
  if (!link || button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return null
  if (link.origin !== window.location.origin || link.target !== '') return null
  return { pathname: link.pathname, search: link.search, hash: link.hash }
}

/**
 * Loads the page behind a link before the visitor leaves the present one. If that fails, the present one stays, with all
 * that was typed into it.
 */
export function PageLoader() {
  const navigate = useNavigate()

  useEffect(() => {
    let latest: object | null = null
    const follow = (event: MouseEvent) => {
      const address = addressOf(event)
      if (address) latest = address
      if (!address || isPageLoaded(address.pathname)) return
      // The router leaves such a click alone, and what else the link does is done.
      event.preventDefault()
      loadPage(address.pathname).then(
        () => latest === address && void navigate(address),
        (error: unknown) =>
          recover(error, { address: `${address.pathname}${address.search}${address.hash}` }),
      )
    }
    // Before the router's own listener.
    window.addEventListener('click', follow, { capture: true })
    return () => window.removeEventListener('click', follow, { capture: true })
  }, [navigate])

  return null
}
