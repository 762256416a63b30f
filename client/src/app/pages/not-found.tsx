import { useEffect } from 'react'
import { Link, useLocation } from 'react-router-dom'

import { StepEdge } from '@/components/layout/step-edge'
import { Button } from '@/components/ui/button'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

/** What an address without a page shows; says so in the console, where broken links are looked for. */
export default function NotFoundPage() {
  const { pathname } = useLocation()

  useEffect(() => {
    console.error('404: no page at', pathname)
  }, [pathname])

  return (
    <div className="relative bg-paper pt-36 pb-48">
      <PageHead noIndex />
      <div className="container-page flex flex-col items-start gap-8">
        <h1 className="font-display text-[clamp(8rem,28vw,20rem)] leading-[0.8] font-extrabold tracking-[-0.05em] text-pitch">
          404
        </h1>
        <p className="font-display text-heading font-semibold">Oops! Page not found</p>
        <Button asChild size="large">
          <Link to="/">Return to Home</Link>
        </Button>
      </div>
      <HashScroll />
      <StepEdge steps={7} direction="up" className="h-32 text-ink" />
    </div>
  )
}
