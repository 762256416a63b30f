/** The longest that a picture is waited for, in milliseconds. */
const PICTURE_LIMIT_MS = 2000

/**
 * Resolves once the first screen that the server sent inside `root` is to be seen, its picture included: whatever
 * runs before keeps the visitor waiting for it. At once where there is none, or nobody looks.
 */
export async function firstScreenShown(root: HTMLElement) {
  if (root.childElementCount === 0 || document.hidden) return
  const picture = root.querySelector<HTMLImageElement>('img[fetchpriority="high"]')
  const isDecoded = picture?.decode().catch(() => undefined)
  const isLate = new Promise((resolve) => setTimeout(resolve, PICTURE_LIMIT_MS))
  await Promise.race([isDecoded, isLate])
  await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
}
