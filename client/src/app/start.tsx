import { StrictMode, startTransition } from 'react'
import { createRoot } from 'react-dom/client'
import { BrowserRouter } from 'react-router-dom'

import { rememberServedFields } from '@/lib/loading/served-fields'
import { rememberServedScreen } from '@/lib/loading/served-screen'
import { rememberServedTexts } from '@/lib/loading/served-texts'
import { recover } from '@/lib/loading/load-part'
import { getSupabase } from '@/lib/supabase/get-supabase'

import { App, loadApp } from './app'
import { canonicalPath } from './routes'

/** Renders the site inside `root`, which replaces the first screen that the server sent. */
export async function start(root: HTMLElement) {
  const { pathname } = window.location
  rememberServedScreen(root)
  rememberServedTexts(root, canonicalPath(pathname))
  rememberServedFields(root)
  // Loaded together with the page, whose queries wait for it, and not earlier: the first screen's picture needs the
  // bandwidth. If it cannot be loaded, the queries fail.
  getSupabase().catch((error: unknown) => recover(error, { isQuiet: true }))
  await loadApp(pathname)
  // In a transition, so that the visitor can scroll and tap meanwhile.
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
