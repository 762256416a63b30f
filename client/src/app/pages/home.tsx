import { lazy, Suspense } from 'react'

import { Hero } from '@/features/hero/hero'

import { PageHead } from '../page-head'

/** Everything below the first screen comes in a second file, so that the first screen need not wait for it. */
const HomeSections = lazy(() => import('./home-sections'))

/** The home page. What it is about in the vocabulary of schema.org is told by its sections. */
export function HomePage() {
  return (
    <>
      <PageHead jsonLd={undefined} />
      <Hero />
      <Suspense fallback={<div className="min-h-dvh" />}>
        <HomeSections />
      </Suspense>
    </>
  )
}
