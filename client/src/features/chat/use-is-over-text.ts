import { useEffect, useState, type RefObject } from 'react'

/** How long the page must have been at rest before one looks, in milliseconds. */
const REST_MS = 200

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

/** Reports whether the page has text, or a field, where `place` lies over it. */
function isOverText(place: Element) {
  const box = place.getBoundingClientRect()
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

/**
 * Reports whether the element lies over text of the page. While the page is scrolled the answer is yes, since text passes
 * under whatever floats over it.
 */
export function useIsOverText(ref: RefObject<Element | null>, isShown: boolean) {
  const [isOver, setIsOver] = useState(false)

  useEffect(() => {
    const place = ref.current
    if (!isShown || !place) return
    let timer: ReturnType<typeof setTimeout>
    const lookLater = () => {
      clearTimeout(timer)
      timer = setTimeout(() => setIsOver(isOverText(place)), REST_MS)
    }
    const move = () => {
      setIsOver(true)
      lookLater()
    }
    lookLater()
    // The page also changes its height, such as when an answer is opened.
    const observer = new ResizeObserver(lookLater)
    observer.observe(document.body)
    window.addEventListener('scroll', move, { passive: true })
    window.addEventListener('resize', lookLater)
    return () => {
      clearTimeout(timer)
      observer.disconnect()
      window.removeEventListener('scroll', move)
      window.removeEventListener('resize', lookLater)
    }
  }, [ref, isShown])

  return isOver
}
