/** How long a picture is waited for, in milliseconds. */
const PICTURE_LIMIT_MS = 2000

/** How long a frame is waited for. A browser that is covered or in the background paints none. */
const FRAME_LIMIT_MS = 500

/** Resolves with `done`, or after `ms` milliseconds without it. */
function atMost(ms: number, done: Promise<unknown>) {
  return Promise.race([done, new Promise((resolve) => setTimeout(resolve, ms))])
}

/**
 * Resolves once the first screen that the server sent inside `root` is visible, including its picture: scripts that run
 * earlier would delay it. Resolves at once if there is none or the page is hidden, and never later than the limits above.
 */
export async function firstScreenShown(root: HTMLElement) {
  if (root.childElementCount === 0 || document.hidden) return
  const picture = root.querySelector<HTMLImageElement>('img[fetchpriority="high"]')
  if (picture)
    await atMost(
      PICTURE_LIMIT_MS,
      picture.decode().catch(() => undefined),
    )
  const isPainted = new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  await atMost(FRAME_LIMIT_MS, isPainted)
}
