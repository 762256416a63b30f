import { useEffect } from 'react'
import { useLocation } from 'react-router-dom'

import { Link } from '@/components/layout/link'
import { StepEdge } from '@/components/layout/step-edge'
import { buttonClass } from '@/components/ui/button-class'

import { HashScroll } from '../hash-scroll'
import { PageHead } from '../page-head'

/** Shows the page for an unknown address. It also logs the address to the console, to find broken links. */
export default function NotFoundPage() {
  const { pathname } = useLocation()

  useEffect(() => {
    console.error('404: no page at', pathname)
  }, [pathname])

  return (
    <div className="relative bg-paper pt-36 pb-48">
      <PageHead />
      <div className="container-page flex flex-col items-start gap-8">
        <h1 className="font-display text-[clamp(8rem,28vw,20rem)] leading-[0.8] font-extrabold tracking-[-0.05em] text-pitch">
          404
        </h1>
        <p className="font-display text-heading font-semibold">Oops! Page not found</p>
        <Link to="/" className={buttonClass({ size: 'large' })}>
          Return to Home
        </Link>
      </div>
      <HashScroll />
      <StepEdge steps={7} direction="up" className="h-32 text-ink" />
      <Ball />
    </div>
  )
}

/** Shows a ball on the last but one of the steps. */
function Ball() {
  return (
    <svg
      aria-hidden
      viewBox="0 0 100 100"
      className="absolute bottom-[calc(8rem*5/6)] left-[calc(100%*5.5/7)] w-[clamp(2.5rem,6vw,6.5rem)] -translate-x-1/2 -rotate-12"
    >
      <clipPath id="ball">
        <circle cx={50} cy={50} r={48} />
      </clipPath>
      <g clipPath="url(#ball)">
        <rect width={100} height={100} className="fill-chalk" />
        <path
          d="M50.0 33.0L66.2 44.7L60.0 63.8L40.0 63.8L33.8 44.7ZM50.0 17.0L64.3 12.7L66.4 -3.6L33.6 -3.6L35.7 12.7ZM81.4 39.8L89.9 52.1L106.0 49.0L95.9 17.9L81.1 24.8ZM69.4 76.7L60.4 88.6L68.2 102.9L94.7 83.7L83.5 71.8ZM30.6 76.7L16.5 71.8L5.3 83.7L31.8 102.9L39.6 88.6ZM18.6 39.8L18.9 24.8L4.1 17.9L-6.0 49.0L10.1 52.1Z"
          className="fill-ink"
        />
        <path
          d="M50.0 33.0L50.0 16.0M66.2 44.7L82.3 39.5M60.0 63.8L70.0 77.5M40.0 63.8L30.0 77.5M33.8 44.7L17.7 39.5"
          strokeWidth={2.5}
          className="stroke-ink"
        />
      </g>
      <circle cx={50} cy={50} r={48} fill="none" strokeWidth={4} className="stroke-ink" />
    </svg>
  )
}
