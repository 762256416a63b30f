import { useEffect, useState, type RefObject } from 'react'

/** Returns whether any part of the element is visible. True until the browser has checked. */
export function useIsOnScreen(ref: RefObject<Element | null>) {
  const [isOnScreen, setIsOnScreen] = useState(true)

  useEffect(() => {
    const element = ref.current
    if (!element) return
    const observer = new IntersectionObserver((entries) =>
      setIsOnScreen(entries.at(-1)?.isIntersecting ?? true),
    )
    observer.observe(element)
    return () => observer.disconnect()
  }, [ref])

  return isOnScreen
}
