import { MessageCircle } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'

import { CHAT } from '@/lib/constants'
import { split } from '@/lib/loading/split'
import { useAfter } from '@/lib/browser/use-after'

import { copy } from './copy'

/** The panel contains a Markdown parser and a sanitiser, so it is loaded when it is first opened. */
const ChatPanel = split(() => import('./chat-panel'))

interface ChatWidgetProps {
  isOpen: boolean
  onOpenChange: (isOpen: boolean) => void
}

/** Shows the assistant's button, and the conversation behind it. */
export function ChatWidget({ isOpen, onOpenChange }: ChatWidgetProps) {
  const isTime = useAfter(CHAT.appearMs)
  const [wasOpened, setWasOpened] = useState(false)
  const buttonRef = useRef<HTMLButtonElement>(null)

  useEffect(() => {
    // When the panel is closed, the focus returns to the button that opened it.
    if (wasOpened && !isOpen) buttonRef.current?.focus()
  }, [wasOpened, isOpen])

  if (!isTime) return null

  const open = () =>
    ChatPanel.open(() => {
      setWasOpened(true)
      onOpenChange(true)
    })
  return (
    <>
      {!isOpen && (
        <button
          ref={buttonRef}
          type="button"
          aria-label={wasOpened ? copy.open : `${copy.open}, ${copy.unread}`}
          onClick={open}
          className="fixed right-4 bottom-4 z-40 grid size-14 animate-rise-in place-items-center rounded-full bg-pitch text-chalk shadow-float ring-2 ring-chalk hover:bg-pitch-deep sm:right-6 sm:bottom-6"
        >
          <MessageCircle aria-hidden className="size-7" />
          {!wasOpened && (
            <span
              aria-hidden
              className="absolute -top-1 -right-1 grid size-6 place-items-center rounded-full bg-floodlight text-label font-bold text-ink"
            >
              1
            </span>
          )}
        </button>
      )}
      {wasOpened && <ChatPanel isOpen={isOpen} onClose={() => onOpenChange(false)} />}
    </>
  )
}
