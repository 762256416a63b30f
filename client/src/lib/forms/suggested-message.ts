type Listener = (text: string) => void

const listeners = new Set<Listener>()

/** Suggests a text for the message of the contact form, for parts of the page that lead there. */
export function suggestMessage(text: string) {
  for (const listener of listeners) listener(text)
}

/** Calls `listener` with each suggested text. Returns a function that ends this. */
export function onSuggestedMessage(listener: Listener) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
