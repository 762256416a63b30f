import { QueryClientProvider } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'
import { Route, Routes } from 'react-router-dom'

import { Toaster } from '@/components/ui/toaster'
import { createQueryClient } from '@/lib/content/query-client'
import { split } from '@/lib/loading/split'

import { DocumentHead } from './document-head'
import { LiveContent } from './live-content'
import { HomePage } from './pages/home'
import { RequirePassword } from './require-password'
import { SiteLayout } from './site-layout'

const AuthPage = split(() => import('./pages/auth'))
const AboutPage = split(() => import('./pages/about'))
const ArticlePage = split(() => import('./pages/article'))
const CareersPage = split(() => import('./pages/careers'))
const LegalPage = split(() => import('./pages/legal'))
const NotFoundPage = split(() => import('./pages/not-found'))
const PasswordPage = split(() => import('./pages/password'))

/** The last parts of the articles' routes. */
export const ARTICLE_SLUGS = [
  'beyond-broadcast',
  'engaging-gen-z',
  'owning-the-goal-line',
  'level-up-your-loyalty',
  'building-your-fortress',
  'beyond-ads',
]

const PASSWORD = 'password'

/** A page with a file of its own, as it is shown. */
interface Shown {
  load: () => Promise<void>
  element: ReactNode
}

/** The pages behind the home page, by their paths without the first slash. */
const PAGES: Record<string, Shown> = {
  about: { load: AboutPage.load, element: <AboutPage /> },
  auth: { load: AuthPage.load, element: <AuthPage /> },
  careers: { load: CareersPage.load, element: <CareersPage /> },
  cookies: { load: LegalPage.load, element: <LegalPage page="cookies" /> },
  imprint: { load: LegalPage.load, element: <LegalPage page="imprint" /> },
  privacy: { load: LegalPage.load, element: <LegalPage page="privacy" /> },
}
for (const slug of ARTICLE_SLUGS) {
  PAGES[`blog/${slug}`] = {
    load: ArticlePage.load,
    element: <ArticlePage key={slug} slug={slug} />,
  }
}

/** Brings the file of the page at `pathname`, so that `App` shows it without a gap. */
export async function loadPage(pathname: string) {
  const path = pathname.replace(/^\/|\/+$/g, '')
  if (path === '') return
  await (path === PASSWORD ? PasswordPage : (PAGES[path] ?? NotFoundPage)).load()
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
          <Route element={<RequirePassword />}>
            <Route index element={<HomePage />} />
            {Object.entries(PAGES).map(([path, { element }]) => (
              <Route key={path} path={path} element={element} />
            ))}
            <Route path="*" element={<NotFoundPage />} />
          </Route>
          <Route path={PASSWORD} element={<PasswordPage />} />
        </Route>
      </Routes>
      <Toaster />
    </QueryClientProvider>
  )
}
