import { Suspense, type ReactNode } from 'react'
import { useLocation } from 'react-router-dom'

import { Toaster } from '@/components/ui/toaster'
import { Footer } from '@/features/footer/footer'
import { Header } from '@/features/header/header'
import { Newsletter } from '@/features/newsletter/newsletter'
import { split } from '@/lib/loading/split'
import { useSession } from '@/lib/session/session'

import { ErrorBoundary } from './error-boundary'
import { PageLoader } from './page-loader'
import { routeOf } from './routes'
import { Widgets } from './widgets'

const SessionWatch = split(() => import('@/features/session/session-watch'))

/** Shows header, page and footer, in the order of keyboard focus; then the floating widgets and the toasts. */
export default function SiteLayout({ children }: { children: ReactNode }) {
  const { pathname } = useLocation()
  const session = useSession()
  const { isBare } = routeOf(pathname)
  return (
    <>
      <a
        href="#main"
        className="fixed top-3 left-3 z-60 -translate-y-24 rounded-md bg-floodlight px-5 py-3 font-semibold text-ink focus:translate-y-0 print:hidden"
      >
        Skip to content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        <ErrorBoundary key={pathname}>
          <Suspense fallback={<div className="min-h-dvh bg-paper" />}>{children}</Suspense>
        </ErrorBoundary>
      </main>
      <Footer newsletter={<Newsletter />} />
      {!isBare && <Widgets />}
      <ErrorBoundary fallback={null}>
        <Suspense>{session && <SessionWatch session={session} />}</Suspense>
      </ErrorBoundary>
      <Toaster />
      <PageLoader />
    </>
  )
}
