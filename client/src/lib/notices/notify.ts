/** The content of a toast. `error` is the destructive kind. */
export interface Notice {
  kind: 'error' | 'success' | 'warning'
  title: string
  description?: string | undefined
}

type Show = (notice: Notice) => void

/** The most notices that wait for the toaster to be loaded. */
const QUEUE_LIMIT = 8

let show: Show | null = null
let isWanted = false
let waiting: Notice[] = []
const listeners = new Set<() => void>()

function raise(notice: Notice) {
  if (show) {
    show(notice)
    return
  }
  waiting = [...waiting, notice].slice(-QUEUE_LIMIT)
  isWanted = true
  for (const listener of listeners) listener()
}

/** Raises toasts; features need not know who shows them. */
export const notify = {
  error: (title: string, description?: string) => raise({ kind: 'error', title, description }),
  success: (title: string, description?: string) => raise({ kind: 'success', title, description }),
  warning: (title: string, description?: string) => raise({ kind: 'warning', title, description }),
}

/** Whether a toast was ever raised, for `useSyncExternalStore`. Most visits raise none and load no toaster. */
export const toasterDemand = {
  subscribe: (listener: () => void) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  },
  snapshot: () => isWanted,
}

/** Makes `next` show the toasts, those that were raised before included. Returns how to stop that. */
export function connectToaster(next: Show) {
  show = next
  for (const notice of waiting) next(notice)
  waiting = []
  return () => {
    if (show === next) show = null
  }
}
