import { useEffect, useState, type RefObject } from 'react'

/** How long the page must have been at rest before one looks, in milliseconds. */
const REST_MS = 200

/** How much of the button shows in the page's margin, in pixels. */
const MARGIN = 16

/** Where the button has room: at its place, in the margin alone, or nowhere. */
type Room = 'all' | 'margin' | 'none'

/** What is in the way like text, though it has no text of its own. */
const CONTROLS = 'input, textarea, select'

function hasTextIn(element: Element, box: DOMRect) {
  if (element.matches(CONTROLS)) return true
  for (const node of element.childNodes) {
    if (node.nodeType !== Node.TEXT_NODE || node.textContent?.trim() === '') continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const { left, right, top, bottom } of range.getClientRects()) {
      if (left < box.right && right > box.left && top < box.bottom && bottom > box.top) return true
    }
  }
  return false
}

/** Reports whether the page has text, or a field, in the box, apart from what is in `place`. */
function isOverText(place: Element, box: DOMRect) {
  for (const x of [box.left, (box.left + box.right) / 2, box.right - 1]) {
    for (const y of [box.top, (box.top + box.bottom) / 2, box.bottom - 1]) {
      const found = document
        .elementsFromPoint(x, y)
        .some((element) => !place.contains(element) && hasTextIn(element, box))
      if (found) return true
    }
  }
  return false
}

function roomAt(place: Element): Room {
  const box = place.getBoundingClientRect()
  if (!isOverText(place, box)) return 'all'
  // The cards of a row that is swiped reach into the margin.
  const margin = new DOMRect(window.innerWidth - MARGIN, box.top, MARGIN, box.height)
  return isOverText(place, margin) ? 'none' : 'margin'
}

/**
 * Returns where `ref` can be shown without lying over text of the page. While the page is scrolled that is the margin,
 * since text passes under whatever floats over it. Before it has been scrolled the button is at its place, to be found.
 */
export function useRoom(ref: RefObject<Element | null>, isShown: boolean) {
  const [room, setRoom] = useState<Room>('all')

  useEffect(() => {
    const place = ref.current
    if (!isShown || !place) return
    let timer: ReturnType<typeof setTimeout>
    const lookLater = () => {
      clearTimeout(timer)
      timer = setTimeout(() => setRoom(roomAt(place)), REST_MS)
    }
    let wasScrolled = false
    const move = () => {
      wasScrolled = true
      setRoom('margin')
      lookLater()
    }
    const lookAgain = () => {
      if (wasScrolled) lookLater()
    }
    // The page also changes its height, such as when an answer is opened.
    const observer = new ResizeObserver(lookAgain)
    observer.observe(document.body)
    window.addEventListener('scroll', move, { passive: true })
    window.addEventListener('resize', lookAgain)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      window.removeEventListener('scroll', move)
      window.removeEventListener('resize', lookAgain)
    }
  }, [ref, isShown])

  return room
}
