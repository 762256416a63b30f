/**
 * How long the browser has for the pictures of one element before the next one is laid out, in milliseconds. Its other
 * threads draw them, and would take the processor from the page meanwhile.
 */
const PAUSE_MS = 50

/** The elements that wait for their layout, in the order of the page. */
const waiting = new Set<HTMLElement>()
let isScheduled = false

function layOut(element: HTMLElement) {
  waiting.delete(element)
  element.removeAttribute('data-layout')
}

function isInWaiting(element: HTMLElement) {
  return Boolean(element.parentElement?.closest('[data-layout]'))
}

function layOutNext() {
  for (const element of waiting) {
    if (isInWaiting(element)) continue
    layOut(element)
    break
  }
  isScheduled = waiting.size > 0
  if (isScheduled) setTimeout(() => requestAnimationFrame(layOutNext), PAUSE_MS)
}

function layOutLater(element: HTMLElement | null) {
  if (!element) return
  waiting.add(element)
  if (!isScheduled) requestAnimationFrame(layOutNext)
  isScheduled = true
  return () => void waiting.delete(element)
}

/**
 * The properties of an element that is not laid out with the page that it comes with, unless it is on the screen. All of it
 * is in the document; the browser computes the styles and positions of one such element after the other, since those of
 * a whole page in one go would keep slow phones from answering to taps. A large element can have such elements in it,
 * which come after it.
 */
export const laidOutLater = { ref: layOutLater, 'data-layout': 'later' }

/** Lays out all waiting elements, for code that needs their positions. */
export function layOutAll() {
  for (const element of waiting) layOut(element)
}
