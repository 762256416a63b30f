import { QueryClientProvider } from '@tanstack/react-query'
import { useState } from 'react'
import { Route, Routes } from 'react-router-dom'

import { Toaster } from '@/components/ui/toaster'
import { createQueryClient } from '@/lib/query-client'

import { DocumentHead } from './document-head'
import { LiveContent } from './live-content'
import { HomePage } from './pages/home'
import { RequirePassword } from './require-password'
import { SiteLayout } from './site-layout'
import { splitPage } from './split-page'

const AuthPage = splitPage(() => import('./pages/auth'))
const AboutPage = splitPage(() => import('./pages/about'))
const ArticlePage = splitPage(() => import('./pages/article'))
const CareersPage = splitPage(() => import('./pages/careers'))
const LegalPage = splitPage(() => import('./pages/legal'))
const NotFoundPage = splitPage(() => import('./pages/not-found'))
const PasswordPage = splitPage(() => import('./pages/password'))

const SPLIT_PAGES: Record<string, { load: () => Promise<void> }> = {
  '/about': AboutPage,
  '/auth': AuthPage,
  '/careers': CareersPage,
  '/cookies': LegalPage,
  '/imprint': LegalPage,
  '/password': PasswordPage,
  '/privacy': LegalPage,
}

/** Brings the file of the page at `pathname`, so that `App` shows it without a gap. */
export async function loadPage(pathname: string) {
  const path = pathname.replace(/\/+$/, '')
  const isArticle = ARTICLE_SLUGS.some((slug) => path === `/blog/${slug}`)
  const page = isArticle ? ArticlePage : (SPLIT_PAGES[path] ?? NotFoundPage)
  if (path !== '') await page.load()
}

/** The last parts of the articles' routes. */
export const ARTICLE_SLUGS = [
  'beyond-broadcast',
  'engaging-gen-z',
  'owning-the-goal-line',
  'level-up-your-loyalty',
  'building-your-fortress',
  'beyond-ads',
]

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
            <Route path="about" element={<AboutPage />} />
            <Route path="careers" element={<CareersPage />} />
            <Route path="privacy" element={<LegalPage page="privacy" />} />
            <Route path="cookies" element={<LegalPage page="cookies" />} />
            <Route path="imprint" element={<LegalPage page="imprint" />} />
            {ARTICLE_SLUGS.map((slug) => (
              <Route
                key={slug}
                path={`blog/${slug}`}
                element={<ArticlePage key={slug} slug={slug} />}
              />
            ))}
            <Route path="auth" element={<AuthPage />} />
            <Route path="*" element={<NotFoundPage />} />
          </Route>
          <Route path="password" element={<PasswordPage />} />
        </Route>
      </Routes>
      <Toaster />
    </QueryClientProvider>
  )
}
