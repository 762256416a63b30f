import 'sonner/dist/styles.css'

import { useEffect } from 'react'
import { toast, Toaster } from 'sonner'

import { connectToaster } from '@/lib/notify'

/** The list of toasts, announced to screen readers as it grows. */
export default function ToastList() {
  useEffect(
    () => connectToaster(({ kind, title, description }) => toast[kind](title, { description })),
    [],
  )
  return <Toaster position="bottom-right" richColors closeButton />
}
