import { useEffect, type RefObject } from 'react'

import { CONTACT } from '@/lib/constants'
import { onSuggestedMessage } from '@/lib/forms/suggested-message'

/**
 * Writes suggested texts into the message field inside `ref`, below what the visitor has typed. A suggestion takes the
 * place of the one before, unless the visitor has changed that.
 */
export function useSuggestedMessage(ref: RefObject<HTMLElement | null>) {
  useEffect(() => {
    let last = ''
    return onSuggestedMessage((text) => {
      const field = ref.current?.querySelector('textarea')
      if (!field) return
      const { value } = field
      const start = last ? value.indexOf(last) : -1
      const [written, from, to] =
        start >= 0
          ? [text, start, start + last.length]
          : [value.trim() ? `\n\n${text}` : text, value.trimEnd().length, value.length]
      // What the visitor has typed matters more than the suggestion.
      if (value.length - (to - from) + written.length > CONTACT.message.max) return
      last = text
      // Unlike an assignment to `value`, this counts as input for React, as the event tells it.
      field.setRangeText(written, from, to)
      field.dispatchEvent(new Event('input', { bubbles: true }))
    })
  }, [ref])
}
