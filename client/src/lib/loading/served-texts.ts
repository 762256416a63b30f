interface ServedTexts {
  path: string
  title: string
  /** The first paragraph of an article. */
  lead: string
}

let served: ServedTexts | undefined

/** Stores the texts of the first screen that the server sent inside `root`, before it is replaced. */
export function rememberServedTexts(root: HTMLElement, path: string) {
  // A heading that is typed out has its whole text for screen readers.
  const heading = root.querySelector('h1 > .sr-only') ?? root.querySelector('h1')
  const lead = root.querySelector('[data-lead]')
  served = { path, title: heading?.textContent ?? '', lead: lead?.textContent ?? '' }
}

/** Returns the title that the server sent for the page at `path`, if any. */
export function servedTitle(path: string) {
  return textAt(path, 'title')
}

/** Returns the first paragraph that the server sent for the article at `path`, if any. */
export function servedLead(path: string) {
  return textAt(path, 'lead')
}

function textAt(path: string, text: 'title' | 'lead') {
  const found = served?.path === path ? served[text] : ''
  return found === '' ? undefined : found
}
