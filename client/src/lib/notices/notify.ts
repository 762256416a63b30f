/** The content of a toast. `error` is the destructive kind. */
interface Content {
  kind: 'error' | 'success' | 'warning'
  title: string
  description?: string | undefined
}

/** A toast. The same one raised again replaces the earlier one. */
export interface Notice extends Content {
  id: string
  /** Counts up with each one, so that a notice that is raised again stays as long as a new one. */
  serial: number
}

/** The most toasts that are shown; a new one then replaces the oldest. */
const LIMIT = 3

let serial = 0
/** The newest first. */
let notices: readonly Notice[] = []
const listeners = new Set<() => void>()

function set(next: readonly Notice[]) {
  notices = next
  for (const listener of listeners) listener()
}

function raise(content: Content) {
  const id = `${content.kind} ${content.title}`
  serial += 1
  const others = notices.filter((notice) => notice.id !== id)
  set([{ ...content, id, serial }, ...others].slice(0, LIMIT))
}

/** Raises toasts; features need not know who shows them. */
export const notify = {
  error: (title: string, description?: string) => raise({ kind: 'error', title, description }),
  /** Tells that something was done. What failed before it is no news any more. */
  success: (title: string, description?: string) => {
    set(notices.filter(({ kind }) => kind !== 'error'))
    raise({ kind: 'success', title, description })
  },
  warning: (title: string, description?: string) => raise({ kind: 'warning', title, description }),
  /** Takes the toast of a failure away, once what failed has succeeded. */
  withdraw: (title: string) => dismiss(`error ${title}`),
}

/** Takes a toast away before its time. */
export function dismiss(id: string) {
  if (notices.some((notice) => notice.id === id)) set(notices.filter((notice) => notice.id !== id))
}

/** The toasts that are to be seen now, for `useSyncExternalStore`. */
export const noticeStore = {
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
      // What nobody shows any more is not shown again later.
      if (listeners.size === 0) notices = []
    }
  },
  snapshot: () => notices,
}
