import { lazy, Suspense, useSyncExternalStore } from 'react'
import { createPortal } from 'react-dom'

import { toasterDemand } from '@/lib/notices/notify'

const Sonner = lazy(() => import('./sonner'))

/**
 * Shows the region of toasts, whose code is loaded with the first toast; features show toasts with `notify`.
 *
 * Screen readers announce only what is added to an existing region, and nothing that an open dialog hides. So the region
 * exists from the start, outside of the page's root.
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
