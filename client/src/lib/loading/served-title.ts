let served: { path: string; title: string } | undefined

/** Stores the heading of the first screen that the server sent inside `root`, before it is replaced. */
export function rememberServedTitle(root: HTMLElement, path: string) {
  // A heading that is typed out has its whole text for screen readers.
  const heading = root.querySelector('h1 > .sr-only') ?? root.querySelector('h1')
  const title = heading?.textContent
  served = title ? { path, title } : undefined
}

/** Returns the title that the server sent for the page at `path`, if any. */
export function servedTitle(path: string) {
  return served?.path === path ? served.title : undefined
}
