import { useState } from 'react'

import { ChatWidget } from '@/features/chat/chat-widget'
import { CookieBanner } from '@/features/cookies/cookie-banner'
import { NewsletterPopup } from '@/features/newsletter/popup'

/** What floats over the pages. The popup keeps away from the open chat. */
export default function Widgets() {
  const [isChatOpen, setIsChatOpen] = useState(false)
  return (
    <>
      <CookieBanner />
      <NewsletterPopup isChatOpen={isChatOpen} />
      <ChatWidget isOpen={isChatOpen} onOpenChange={setIsChatOpen} />
    </>
  )
}
