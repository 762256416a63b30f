import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { Route, Routes } from 'react-router-dom'

import { createQueryClient } from '@/lib/content/query-client'
import { split } from '@/lib/loading/split'

import { DocumentHead } from './document-head'
import { LiveContent } from './live-content'
import { loadPage, pageOf } from './pages'
import { RequirePassword } from './require-password'
import { ROUTES } from './routes'

/** Header, footer and everything around the pages, in a file of its own. */
const SiteLayout = split(() => import('./site-layout'))

/** Loads everything that `App` shows at `pathname`, so that all of it is rendered at once. */
export async function loadApp(pathname: string) {
  const page = loadPage(pathname).catch((error: unknown) => {
    // The page shows the error itself, between header and footer.
    console.error('The page could not be loaded:', error)
  })
  await Promise.all([SiteLayout.load(), page])
}

function routes(isGate: boolean) {
  return ROUTES.filter((route) => (route.isGate ?? false) === isGate).map(({ path, page }) => {
    const Page = pageOf(page)
    return <Route key={path} path={path} element={<Page key={path} path={path} />} />
  })
}

/** Shows the site's routes and the layout that they share. Must be inside a router. */
export function App() {
  const [queryClient] = useState(createQueryClient)
  return (
    <QueryClientProvider client={queryClient}>
      <DocumentHead />
      <LiveContent />
      <Suspense>
        <Routes>
          <Route element={<SiteLayout />}>
            <Route element={<RequirePassword />}>{routes(false)}</Route>
            {routes(true)}
          </Route>
        </Routes>
      </Suspense>
    </QueryClientProvider>
  )
}
