import { QueryClientProvider } from '@tanstack/react-query'
import { useState } from 'react'
import { Route, Routes } from 'react-router-dom'

import { Toaster } from '@/components/ui/toaster'
import { createQueryClient } from '@/lib/query-client'

import { DocumentHead } from './document-head'
import { HomePage } from './pages/home'
import { NotFoundPage } from './pages/not-found'
import { SiteLayout } from './site-layout'

/** The site's routes and what they all share. Needs a router around it. */
export function App() {
  const [queryClient] = useState(createQueryClient)
  return (
    <QueryClientProvider client={queryClient}>
      <DocumentHead />
      <Routes>
        <Route element={<SiteLayout />}>
          <Route index element={<HomePage />} />
          <Route path="*" element={<NotFoundPage />} />
        </Route>
      </Routes>
      <Toaster />
    </QueryClientProvider>
  )
}
