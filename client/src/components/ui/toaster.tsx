import CircleAlert from 'lucide-react/icons/circle-alert'
import CircleCheck from 'lucide-react/icons/circle-check'
import TriangleAlert from 'lucide-react/icons/triangle-alert'
import X from 'lucide-react/icons/x'
import { useEffect, useState, useSyncExternalStore, type SyntheticEvent } from 'react'
import { createPortal } from 'react-dom'

import { cn } from '@/lib/cn'
import { TOAST_MS } from '@/lib/constants'
import { dismiss, noticeStore, type Notice } from '@/lib/notices/notify'

const KINDS = {
  error: { icon: CircleAlert, mark: 'text-flare', box: 'bg-ink text-chalk ring-flare' },
  success: { icon: CircleCheck, mark: 'text-floodlight', box: 'bg-ink text-chalk ring-floodlight' },
  warning: { icon: TriangleAlert, mark: 'text-ink', box: 'bg-floodlight text-ink ring-ink' },
} as const

const NONE: readonly Notice[] = []

/**
 * Shows the toasts that features raise with `notify`. It is part of the first scripts, since a toast often says that
 * nothing can be loaded any more.
 *
 * Screen readers announce only what is added to an existing region, and nothing that an open dialog hides. So the region
 * exists from the start, outside of the page's root.
 */
export function Toaster() {
  const notices = useSyncExternalStore(noticeStore.subscribe, noticeStore.snapshot, () => NONE)
  return createPortal(
    <section
      aria-label="Notifications"
      aria-live="polite"
      aria-relevant="additions text"
      className="pointer-events-none fixed top-23 right-4 z-70 flex w-[min(24rem,100vw-2rem)] flex-col gap-3"
    >
      {notices.map((notice) => (
        <Toast key={notice.id} notice={notice} />
      ))}
    </section>,
    document.body,
  )
}

/** Keeps a press on a toast from counting as one outside of an open dialog, which would close that. */
function keepFromDialogs(event: SyntheticEvent) {
  event.stopPropagation()
}

/** Shows one toast, for some seconds, and longer while the pointer or the focus is on it. */
function Toast({ notice: { id, serial, kind, title, description } }: { notice: Notice }) {
  const [isHeld, setIsHeld] = useState(false)
  const { icon: Icon, mark, box } = KINDS[kind]

  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => dismiss(id), TOAST_MS)
    return () => clearTimeout(timer)
  }, [id, serial, isHeld])

  return (
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions -- what is held is not operated, its button is
    <div
      data-toast={kind}
      onPointerDown={keepFromDialogs}
      onPointerEnter={() => setIsHeld(true)}
      onPointerLeave={() => setIsHeld(false)}
      onFocus={() => setIsHeld(true)}
      onBlur={() => setIsHeld(false)}
      className={cn(
        'pointer-events-auto flex animate-rise-in items-start gap-3 rounded-md py-3 pr-1.5 pl-4 text-small shadow-float ring-1 ring-inset',
        box,
      )}
    >
      <Icon aria-hidden className={cn('mt-0.5 size-5 shrink-0', mark)} />
      <div className="min-w-0 flex-1 py-px wrap-anywhere">
        <p className="font-semibold">{title}</p>
        {description && (
          <p className={kind === 'warning' ? undefined : 'text-haze'}>{description}</p>
        )}
      </div>
      <button
        type="button"
        aria-label="Close notification"
        onClick={() => dismiss(id)}
        className="-my-1.5 grid size-10 shrink-0 place-items-center rounded-sm focus-inside"
      >
        <X aria-hidden className="size-4" />
      </button>
    </div>
  )
}
