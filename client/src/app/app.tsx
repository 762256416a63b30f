import { QueryClientProvider } from '@tanstack/react-query'
import { useState } from 'react'
import { Route, Routes } from 'react-router-dom'

import { Toaster } from '@/components/ui/toaster'
import { createQueryClient } from '@/lib/content/query-client'

import { DocumentHead } from './document-head'
import { LiveContent } from './live-content'
import { pageOf } from './pages'
import { RequirePassword } from './require-password'
import { ROUTES } from './routes'
import { SiteLayout } from './site-layout'

function routes(isGate: boolean) {
  return ROUTES.filter((route) => (route.isGate ?? false) === isGate).map(({ path, page }) => {
    const Page = pageOf(page)
    return <Route key={path} path={path} element={<Page key={path} path={path} />} />
  })
}

/** The site's routes and what they all share. Needs a router around it. */
export function App() {
  const [queryClient] = useState(createQueryClient)
  return (
    <QueryClientProvider client={queryClient}>
      <DocumentHead />
      <LiveContent />
      <Routes>
        <Route element={<SiteLayout />}>
          <Route element={<RequirePassword />}>{routes(false)}</Route>
          {routes(true)}
        </Route>
      </Routes>
      <Toaster />
    </QueryClientProvider>
  )
}
