import { Suspense } from 'react'

import { split } from '@/lib/loading/split'

import { usePopup } from './use-popup'

const PopupDialog = split(() => import('./popup-dialog'))

interface NewsletterPopupProps {
  isChatOpen: boolean
}

/** Offers the newsletter once, at the first sign that a visitor stays or leaves. */
export function NewsletterPopup({ isChatOpen }: NewsletterPopupProps) {
  const { isOpen, close } = usePopup(isChatOpen)
  return isOpen ? (
    <Suspense>
      <PopupDialog onClose={close} />
    </Suspense>
  ) : null
}
