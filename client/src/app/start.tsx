import { StrictMode, startTransition } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter } from 'react-router-dom'

import { rememberServedTitle } from '@/lib/loading/served-title'
import { getSupabase } from '@/lib/supabase/get-supabase'

import { App, loadApp } from './app'
import { canonicalPath } from './routes'

/** Shows the site inside `root`, in place of the first screen that the server sent. */
export async function start(root: HTMLElement) {
  const { pathname } = window.location
  rememberServedTitle(root, canonicalPath(pathname))
  // Beside the page, whose queries wait for it, and not before: the first screen's picture needs the line for itself.
  // Where it cannot be had, the queries say so.
  getSupabase().catch(() => undefined)
  await loadApp(pathname)
  // In pieces, so that the visitor can scroll and tap meanwhile.
  startTransition(() => {
    createRoot(root).render(
      <StrictMode>
        <BrowserRouter>
          <App />
        </BrowserRouter>
      </StrictMode>,
    )
  })
}
