import { QueryClientProvider } from '@tanstack/react-query'
import { Suspense, useState } from 'react'
import { useLocation } from 'react-router-dom'

import { createQueryClient } from '@/lib/content/query-client'
import { split } from '@/lib/loading/split'

import { DocumentHead } from './document-head'
import { LiveContent } from './live-content'
import { loadPage, pageOf } from './pages'
import { RequirePassword } from './require-password'
import { routeOf, ROUTES } from './routes'

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

/** The pages by the paths of their routes. */
const PAGES = new Map(
  ROUTES.map(({ path, page }) => {
    const Page = pageOf(page)
    return [path, <Page key={path} path={path} />]
  }),
)

/** Shows the page at the present address inside the layout that all pages share. */
function Pages() {
  const { path, isGate } = routeOf(useLocation().pathname)
  const page = PAGES.get(path)
  return <SiteLayout>{isGate ? page : <RequirePassword>{page}</RequirePassword>}</SiteLayout>
}

/** Shows the site. Must be inside a router. */
export function App() {
  const [queryClient] = useState(createQueryClient)
  return (
    <QueryClientProvider client={queryClient}>
      <DocumentHead />
      <LiveContent />
      <Suspense>
        <Pages />
      </Suspense>
    </QueryClientProvider>
  )
}
