/** The elements that wait for their layout, in the order of the page. */
const waiting = new Set<HTMLElement>()
let frame = 0

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
  frame = waiting.size > 0 ? requestAnimationFrame(layOutNext) : 0
}

/**
 * Returns the `ref` of an element with `data-layout="later"`, which is not laid out with the page that it comes with
 * unless it is on the screen. All of it is in the document; the browser computes the styles and positions of one such
 * element per frame, since those of a whole page in one go would keep slow phones from answering to taps. A large element
 * can have such elements in it, which come after it.
 */
export function layOutLater(element: HTMLElement | null) {
  if (!element) return
  waiting.add(element)
  if (frame === 0) frame = requestAnimationFrame(layOutNext)
  return () => void waiting.delete(element)
}

/** Lays out all waiting elements, for code that needs their positions. */
export function layOutAll() {
  for (const element of waiting) layOut(element)
}
