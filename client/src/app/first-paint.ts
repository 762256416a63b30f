/** The longest wait for a picture, in milliseconds. */
const PICTURE_LIMIT_MS = 2000

/** The longest wait for a paint, in milliseconds. A window that is covered or in the background paints nothing. */
const PAINT_LIMIT_MS = 500

/** Resolves with `done`, or after `ms` milliseconds without it. */
function atMost(ms: number, done: Promise<unknown>) {
  return Promise.race([done, new Promise((resolve) => setTimeout(resolve, ms))])
}

/** Resolves once the browser has shown something of the page, or after half a second without that. */
export async function firstPaint() {
  const painted = new Promise((resolve) =>
    new PerformanceObserver(resolve).observe({ type: 'paint', buffered: true }),
  )
  await atMost(PAINT_LIMIT_MS, painted)
}

/** Resolves once the picture of the first screen inside `root`, if it has one, is visible; after two seconds at most. */
export async function firstPicture(root: HTMLElement) {
  const picture = root.querySelector<HTMLImageElement>('img[fetchpriority="high"]')
  if (!picture) return
  const decoded = picture.decode().catch(() => undefined)
  await atMost(PICTURE_LIMIT_MS, decoded)
  const nextFrame = new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))
  await atMost(PAINT_LIMIT_MS, nextFrame)
}
