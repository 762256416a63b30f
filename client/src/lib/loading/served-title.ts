let served: { path: string; title: string } | undefined

/** Remembers the heading of the first screen that the server sent inside `root`, before another one takes its place. */
export function rememberServedTitle(root: HTMLElement, path: string) {
  const title = root.querySelector('h1')?.textContent
  served = title ? { path, title } : undefined
}

/** The title that the server sent for the page at `path`; undefined where it sent none. */
export function servedTitle(path: string) {
  return served?.path === path ? served.title : undefined
}
