import { useEffect, useState } from 'react'

import { TYPEWRITER } from '@/lib/constants'

interface Position {
  phrase: number
  length: number
  isDeleting: boolean
}

/** Returns the position at which the first phrase stands whole, as it does in the first screen that a server sends. */
function start(phrases: readonly string[]): Position {
  return { phrase: 0, length: (phrases[0] ?? '').length, isDeleting: false }
}

function step({ phrase, length, isDeleting }: Position, phrases: readonly string[]): Position {
  const full = (phrases[phrase] ?? '').length
  if (isDeleting) {
    return length > 0
      ? { phrase, length: length - 1, isDeleting }
      : { phrase: (phrase + 1) % phrases.length, length: 0, isDeleting: false }
  }
  return length < full
    ? { phrase, length: length + 1, isDeleting }
    : { phrase, length, isDeleting: true }
}

function delayBefore({ phrase, length, isDeleting }: Position, phrases: readonly string[]) {
  if (isDeleting) return TYPEWRITER.deleteMs
  const isComplete = length >= (phrases[phrase] ?? '').length
  return isComplete ? TYPEWRITER.pauseMs : TYPEWRITER.typeMs
}

/**
 * Returns what of the current phrase is typed out by now, and the rest of it. Phrases follow each other for ever:
 * typed, held, deleted; the first one is there at once. Starts again when `phrases` is another array; stands still while
 * `isPaused`, and for ever if there is only one phrase.
 */
export function useTypewriter(phrases: readonly string[], isPaused = false) {
  const [state, setState] = useState(() => ({ phrases, position: start(phrases) }))
  const position = state.phrases === phrases ? state.position : start(phrases)

  useEffect(() => {
    if (isPaused || phrases.length < 2) return
    const timer = setTimeout(
      () => setState({ phrases, position: step(position, phrases) }),
      delayBefore(position, phrases),
    )
    return () => clearTimeout(timer)
  }, [phrases, position, isPaused])

  const phrase = phrases[position.phrase] ?? ''
  return { typed: phrase.slice(0, position.length), rest: phrase.slice(position.length) }
}
