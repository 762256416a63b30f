import { Suspense, type ReactNode } from 'react'

import { split } from '@/lib/loading/split'

import { usePopup } from './use-popup'

const PopupDialog = split(() => import('./popup-dialog'))

interface NewsletterPopupProps {
  isChatOpen: boolean
  /** Puts the dialog into what catches its failures. That it is open is known outside of it, and stays. */
  wrap?: (dialog: ReactNode) => ReactNode
}

/** Offers the newsletter once, at the first sign that a visitor stays or leaves. */
export function NewsletterPopup({ isChatOpen, wrap = (dialog) => dialog }: NewsletterPopupProps) {
  const { isOpen, close } = usePopup(isChatOpen)
  if (!isOpen) return null
  return wrap(
    <Suspense>
      <PopupDialog onClose={close} />
    </Suspense>,
  )
}
