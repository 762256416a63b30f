import { lazy, Suspense, useSyncExternalStore } from 'react'
import { createPortal } from 'react-dom'

import { toasterDemand } from '@/lib/notices/notify'

const Sonner = lazy(() => import('./sonner'))

/**
 * Where toasts appear, from the first one on; features raise them with `notify`.
 *
 * Screen readers announce only what comes into a region that they know already, and nothing of what an open dialog hides:
 * so the region is there from the start, beside the page and not in it.
 */
export function Toaster() {
  const isWanted = useSyncExternalStore(toasterDemand.subscribe, toasterDemand.snapshot)
  return createPortal(
    <div aria-live="polite">
      {isWanted && (
        <Suspense>
          <Sonner />
        </Suspense>
      )}
    </div>,
    document.body,
  )
}
