import { useEffect, useState } from 'react'

import { TYPEWRITER } from '@/lib/constants'

interface Position {
  phrase: number
  length: number
  isDeleting: boolean
}

const START: Position = { phrase: 0, length: 0, isDeleting: false }

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
 * typed, held, deleted. Starts again when `phrases` is another array; stands still while `isPaused`.
 */
export function useTypewriter(phrases: readonly string[], isPaused = false) {
  const [state, setState] = useState({ phrases, position: START })
  const position = state.phrases === phrases ? state.position : START

  useEffect(() => {
    if (isPaused || phrases.length === 0) return
    const timer = setTimeout(
      () => setState({ phrases, position: step(position, phrases) }),
      delayBefore(position, phrases),
    )
    return () => clearTimeout(timer)
  }, [phrases, position, isPaused])

  const phrase = phrases[position.phrase] ?? ''
  return { typed: phrase.slice(0, position.length), rest: phrase.slice(position.length) }
}
