import { lazy, Suspense, useSyncExternalStore } from 'react'

import { toasterDemand } from '@/lib/notify'

const Sonner = lazy(() => import('./sonner'))

/** Where toasts appear, from the first one on; features raise them with `notify`. */
export function Toaster() {
  const isWanted = useSyncExternalStore(toasterDemand.subscribe, toasterDemand.snapshot)
  return isWanted ? (
    <Suspense>
      <Sonner />
    </Suspense>
  ) : null
}
