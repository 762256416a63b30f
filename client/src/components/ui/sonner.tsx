import 'sonner/dist/styles.css'
import './sonner.css'

import { useEffect } from 'react'
import { toast, Toaster } from 'sonner'

import { connectToaster } from '@/lib/notices/notify'

/** Below the header; the chat and the cookie banner are at the other end. */
const OFFSET = { top: 92, right: 16, left: 16 }

/** Shows the list of toasts, announced to screen readers as it grows. */
export default function ToastList() {
  useEffect(
    () =>
      connectToaster(({ kind, title, description }) =>
        toast[kind](title, { description, id: `${kind} ${title}` }),
      ),
    [],
  )
  return (
    <Toaster position="top-right" offset={OFFSET} mobileOffset={OFFSET} richColors closeButton />
  )
}
