import MessageCircle from 'lucide-react/icons/message-circle'
import { useEffect, useRef, useState } from 'react'

import { CHAT } from '@/lib/constants'
import { split } from '@/lib/loading/split'
import { useAfter } from '@/lib/browser/use-after'
import { cn } from '@/lib/cn'

import { copy } from './copy'
import { useRoom } from './use-room'

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
  const placeRef = useRef<HTMLDivElement>(null)
  const room = useRoom(placeRef, isTime && !isOpen)

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
        <div
          ref={placeRef}
          className="pointer-events-none fixed right-(--chat-right) bottom-(--chat-right) z-40 size-14 animate-rise-in [--chat-right:1rem] sm:[--chat-right:1.5rem] print:hidden"
        >
          <button
            ref={buttonRef}
            type="button"
            aria-label={wasOpened ? copy.open : `${copy.open}, ${copy.unread}`}
            onClick={open}
            className={cn(
              'pointer-events-auto relative grid size-full place-items-center rounded-full bg-pitch text-chalk shadow-float ring-2 ring-chalk transition-transform duration-200 ease-out hover:bg-pitch-deep',
              // It comes out to whoever reaches for it.
              room === 'margin' &&
                'translate-x-[calc(100%+var(--chat-right)-1rem)] hover:translate-x-0 focus-visible:translate-x-0',
              room === 'none' &&
                'translate-x-[calc(100%+var(--chat-right)+0.5rem)] focus-visible:translate-x-0',
            )}
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
        </div>
      )}
      {wasOpened && <ChatPanel isOpen={isOpen} onClose={() => onOpenChange(false)} />}
    </>
  )
}
