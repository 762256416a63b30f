import { useRef, type ChangeEvent, type FocusEvent } from 'react'

type TextElement = HTMLInputElement | HTMLTextAreaElement

/**
 * Handlers that refuse what would make a field's value unacceptable while it is typed or pasted: `refuses`
 * says so (and tells the visitor), and the field keeps what it had.
 */
export function useLimitedInput(refuses: (value: string) => boolean) {
  const accepted = useRef('')
  return {
    onFocus: ({ target }: FocusEvent<TextElement>) => {
      accepted.current = target.value
    },
    /** Whether the change was let through. */
    accept: ({ target }: ChangeEvent<TextElement>) => {
      if (refuses(target.value)) {
        target.value = accepted.current
        return false
      }
      accepted.current = target.value
      return true
    },
  }
}
