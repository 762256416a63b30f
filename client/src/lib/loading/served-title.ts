let served: { path: string; title: string } | undefined

/** Stores the heading of the first screen that the server sent inside `root`, before it is replaced. */
export function rememberServedTitle(root: HTMLElement, path: string) {
  const title = root.querySelector('h1')?.textContent
  served = title ? { path, title } : undefined
}

/** Returns the title that the server sent for the page at `path`, if any. */
export function servedTitle(path: string) {
  return served?.path === path ? served.title : undefined
}
