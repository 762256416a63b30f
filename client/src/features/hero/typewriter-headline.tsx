import { useHeadlines } from './use-headlines'
import { useTypewriter } from './use-typewriter'
import { usePrefersReducedMotion } from '@/lib/use-media-query'

interface TypewriterHeadlineProps {
  isPaused: boolean
}

/**
 * The page's headline, typed out phrase by phrase. Screen readers get the first phrase, whole and still.
 * Every phrase lies invisibly below it, so it is as high as the tallest and the page never moves.
 */
export function TypewriterHeadline({ isPaused }: TypewriterHeadlineProps) {
  const headlines = useHeadlines()
  const isStill = usePrefersReducedMotion()
  const typed = useTypewriter(headlines, isPaused || isStill)

  return (
    <h1 className="grid min-h-[4lh] text-hero text-chalk *:[grid-area:1/1] sm:min-h-[3lh] md:min-h-[4lh] xl:min-h-[3lh]">
      <span className="sr-only">{headlines[0]}</span>
      {headlines.map((headline) => (
        <span key={headline} aria-hidden className="invisible">
          {headline}
        </span>
      ))}
      <span aria-hidden>
        {isStill ? headlines[0] : typed}
        {!isStill && (
          <span className="ml-[0.06em] inline-block h-[0.82em] w-[0.09em] translate-y-[0.1em] animate-caret bg-floodlight" />
        )}
      </span>
    </h1>
  )
}
