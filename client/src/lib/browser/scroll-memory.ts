/** The most entries of the history whose positions are kept. */
const LIMIT = 50

let positions: Map<string, number> | undefined

/** Returns whether the document was opened by a link or an address, and not from the history or by a reload. */
function isFreshDocument() {
  const [navigation] = performance.getEntriesByType('navigation')
  return (navigation as PerformanceNavigationTiming | undefined)?.type === 'navigate'
}

/** The state of an entry of the history: the router's, and the positions. No storage, which visitors are asked about. */
interface EntryState {
  scrollPositions?: [string, number][]
}

function stored() {
  positions ??= new Map((window.history.state as EntryState | null)?.scrollPositions ?? [])
  return positions
}

function store() {
  const scrollPositions = [...stored()].slice(-LIMIT)
  window.history.replaceState(
    { ...(window.history.state as EntryState | null), scrollPositions },
    '',
  )
}

/** Notes how far the page is scrolled in the history's entry called `entry`, until the returned function is called. */
export function watchScroll(entry: string) {
  // The browser would scroll before the page's content is there, and to where another page was.
  window.history.scrollRestoration = 'manual'
  const note = () => void stored().set(entry, window.scrollY)
  window.addEventListener('scroll', note, { passive: true })
  // When the page is left it is too late: a reload takes the entry as it was before.
  window.addEventListener('scrollend', store)
  if (stored().size > 0) store()
  return () => {
    window.removeEventListener('scroll', note)
    window.removeEventListener('scrollend', store)
  }
}

/** Returns how far the page was scrolled in the entry; undefined if it was never left. */
export function scrollPosition(entry: string, isFirst: boolean) {
  if (isFirst && isFreshDocument()) stored().delete(entry)
  return stored().get(entry)
}
