import { useState } from 'react'

import { ChatWidget } from '@/features/chat/chat-widget'
import { CookieBanner } from '@/features/cookies/cookie-banner'
import { NewsletterPopup } from '@/features/newsletter/popup'

import { ErrorBoundary } from './error-boundary'

/** Shows the floating widgets. The popup does not open while the chat is open. */
export function Widgets() {
  const [isChatOpen, setIsChatOpen] = useState(false)
  return (
    <>
      <CookieBanner />
      <NewsletterPopup
        isChatOpen={isChatOpen}
        wrap={(dialog) => <ErrorBoundary fallback={null}>{dialog}</ErrorBoundary>}
      />
      <ChatWidget isOpen={isChatOpen} onOpenChange={setIsChatOpen} />
    </>
  )
}
