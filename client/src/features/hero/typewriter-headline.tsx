import { useRef } from 'react'

import { usePrefersReducedMotion } from '@/lib/browser/use-media-query'
import { useIsOnScreen } from '@/lib/browser/use-is-on-screen'

import { useHeadlines } from './use-headlines'
import { useTypewriter } from './use-typewriter'

interface TypewriterHeadlineProps {
  isPaused: boolean
}

/**
 * Shows the page's headline: the first phrase whole, as the server has sent it, the others typed out one after the other.
 * Screen readers get the first phrase, still.
 *
 * Nothing moves while it types: the rest of the phrase is invisible but keeps its place, so no word jumps to another
 * line. All phrases lie invisible behind it, so the headline is always as high as the tallest. It pauses off screen.
 */
export function TypewriterHeadline({ isPaused }: TypewriterHeadlineProps) {
  const headlines = useHeadlines()
  const isStill = usePrefersReducedMotion()
  const ref = useRef<HTMLHeadingElement>(null)
  // Each letter makes the browser lay out the headline, which would slow down the rest of the page.
  const isOnScreen = useIsOnScreen(ref)
  const { typed, rest } = useTypewriter(headlines, isPaused || isStill || !isOnScreen)

  return (
    <h1
      ref={ref}
      className="grid min-h-[4lh] text-hero text-chalk *:[grid-area:1/1] sm:min-h-[3lh] md:min-h-[4lh]"
    >
      <span className="sr-only">{headlines[0]}</span>
      {headlines.map((headline) => (
        <span key={headline} aria-hidden className="invisible">
          {headline}
        </span>
      ))}
      {isStill ? (
        <span aria-hidden>{headlines[0]}</span>
      ) : (
        <span aria-hidden>
          <span className="caret-after">{typed}</span>
          <span className="invisible">{rest}</span>
        </span>
      )}
    </h1>
  )
}
