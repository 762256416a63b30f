import { useState } from 'react'

import { ChatWidget } from '@/features/chat/chat-widget'
import { CookieBanner } from '@/features/cookies/cookie-banner'
import { NewsletterPopup } from '@/features/newsletter/popup'

/** Shows the floating widgets. The popup does not open while the chat is open. */
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
