/** How long a picture is waited for, in milliseconds. */
const PICTURE_LIMIT_MS = 2000

/** How long a frame is waited for. A browser that is covered or in the background paints none. */
const FRAME_LIMIT_MS = 500

/** Resolves with `done`, or after `ms` milliseconds without it. */
function atMost(ms: number, done: Promise<unknown>) {
  return Promise.race([done, new Promise((resolve) => setTimeout(resolve, ms))])
}

/** Resolves once a frame is painted with what is in the document now, or after half a second without one. */
export async function framePainted() {
  await atMost(
    FRAME_LIMIT_MS,
    new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))),
  )
}

/** Resolves once the picture of the first screen inside `root`, if it has one, is visible; after two seconds at most. */
export async function pictureShown(root: HTMLElement) {
  const picture = root.querySelector<HTMLImageElement>('img[fetchpriority="high"]')
  if (!picture) return
  const decoded = picture.decode().catch(() => undefined)
  await atMost(PICTURE_LIMIT_MS, decoded)
  await framePainted()
}
