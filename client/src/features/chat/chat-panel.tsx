import RotateCcw from 'lucide-react/icons/rotate-ccw'
import SendHorizontal from 'lucide-react/icons/send-horizontal'
import X from 'lucide-react/icons/x'
import { Dialog } from 'radix-ui'
import { useEffect, useMemo, useRef, useState, type SubmitEvent } from 'react'

import { Link } from '@/components/layout/link'
import { cn } from '@/lib/cn'
import { CHAT, MOBILE_BREAKPOINT } from '@/lib/constants'
import { draftOf, forgetDraft } from '@/lib/forms/drafts'

import { retryLabel } from './ask'
import { copy, greeting } from './copy'
import { Markdown } from './markdown'
import { useSuggestions, useWelcome } from './queries'
import { splitLinks } from './sources'
import { useConversation, type ChatMessage } from './use-conversation'

/** The name of the form among all forms of the site. */
const DRAFT = 'chat'

interface ChatPanelProps {
  isOpen: boolean
  onClose: () => void
}

/**
 * Shows the conversation in a dialog beside the page, which stays usable. What was said, and what was not sent yet,
 * is still there when it is opened again.
 */
export default function ChatPanel({ isOpen, onClose }: ChatPanelProps) {
  const conversation = useConversation(useWelcome())
  const { messages, isPending, failure, clearFailure } = conversation
  const [draft, setDraft] = useState(() => String(draftOf(DRAFT)?.message ?? ''))
  const panelRef = useRef<HTMLDivElement>(null)
  const inputRef = useRef<HTMLInputElement>(null)
  useEffect(() => forgetDraft(DRAFT), [])

  useEffect(() => {
    if (!isOpen) clearFailure()
  }, [isOpen, clearFailure])

  const takeFocus = (event: Event) => {
    event.preventDefault()
    // On phones a focused field opens the on-screen keyboard, which would cover the conversation.
    const place = isPhone() ? panelRef.current : inputRef.current
    place?.focus()
  }

  // There the conversation would cover the page that a link leads to.
  const closeOnPhone = () => {
    if (isPhone()) onClose()
  }

  return (
    <Dialog.Root open={isOpen} onOpenChange={(next) => !next && onClose()} modal={false}>
      <Dialog.Content
        ref={panelRef}
        aria-label={copy.title}
        aria-labelledby={undefined}
        aria-describedby={undefined}
        onOpenAutoFocus={takeFocus}
        // The button that opened the panel is not mounted while it is open; it takes the focus when it is mounted again.
        onCloseAutoFocus={preventDefault}
        // Clicks outside do not close it, so that visitors can go on reading the page.
        onInteractOutside={preventDefault}
        style={{ height: CHAT.panelHeight }}
        className="fixed inset-x-3 bottom-3 z-50 flex max-h-[calc(100dvh-1.5rem)] animate-rise-in flex-col overflow-hidden rounded-lg bg-paper shadow-float sm:right-6 sm:bottom-6 sm:left-auto sm:w-96"
      >
        <div className="flex items-center justify-between gap-3 bg-ink py-3 pr-3 pl-5 text-chalk">
          <Dialog.Title className="text-subheading">{greeting(new Date().getHours())}</Dialog.Title>
          <Dialog.Close
            aria-label={copy.close}
            className="grid size-11 place-items-center rounded-md hover:bg-ink-raised"
          >
            <X aria-hidden className="size-5" />
          </Dialog.Close>
        </div>
        <MessageList messages={messages} isPending={isPending} onFollow={closeOnPhone}>
          {messages.length === 1 && !isPending && (
            <Suggestions onChoose={(question) => conversation.send(question)} />
          )}
          {failure && !isPending && (
            <button
              type="button"
              onClick={conversation.retry}
              className="inline-flex min-h-10 items-center gap-2 self-start rounded-md bg-mist px-3 text-left text-small font-semibold hover:bg-line"
            >
              <RotateCcw aria-hidden className="size-4 shrink-0" />
              {retryLabel(failure)}
            </button>
          )}
        </MessageList>
        <MessageForm
          inputRef={inputRef}
          text={draft}
          onType={setDraft}
          isPending={isPending}
          onSend={conversation.send}
        />
      </Dialog.Content>
    </Dialog.Root>
  )
}

function isPhone() {
  return window.innerWidth < MOBILE_BREAKPOINT
}

function preventDefault(event: Event) {
  event.preventDefault()
}

interface MessageListProps {
  messages: readonly ChatMessage[]
  isPending: boolean
  /** Called when the visitor follows a link. */
  onFollow: () => void
  children: React.ReactNode
}

function MessageList({ messages, isPending, onFollow, children }: MessageListProps) {
  const endRef = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const list = endRef.current?.parentElement
    if (list) list.scrollTop = list.scrollHeight
  }, [messages, isPending])

  return (
    <div
      role="log"
      aria-label={copy.messages}
      aria-live="polite"
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- what scrolls must be reachable by keyboard
      tabIndex={0}
      className="flex flex-1 flex-col gap-3 overflow-y-auto p-4 focus-inside"
    >
      {messages.map((message) => (
        <Bubble key={message.id} {...message} onFollow={onFollow} />
      ))}
      {isPending && <TypingIndicator />}
      {children}
      <div ref={endRef} />
    </div>
  )
}

type BubbleProps = ChatMessage & Pick<MessageListProps, 'onFollow'>

function Bubble({ text, sender, timestamp, onFollow }: BubbleProps) {
  const isUser = sender === 'user'
  return (
    <div className={cn('flex max-w-[85%] flex-col', isUser ? 'items-end self-end' : 'self-start')}>
      <span className="sr-only">{isUser ? copy.you : copy.assistant}: </span>
      <div
        className={cn(
          'rounded-lg px-4 py-2.5 text-small',
          isUser ? 'bg-pitch wrap-anywhere whitespace-pre-line text-chalk' : 'bg-chalk',
        )}
      >
        {isUser ? text : <ReplyText text={text} onFollow={onFollow} />}
      </div>
      <time dateTime={timestamp.toISOString()} className="mt-1 px-1 text-label text-stone">
        {timestamp.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}
      </time>
    </div>
  )
}

/** Shows a reply of the assistant, and below it the pages that it comes from. */
function ReplyText({ text, onFollow }: { text: string; onFollow: () => void }) {
  const reply = useMemo(() => splitLinks(text), [text])
  return (
    <>
      <Markdown text={reply.text} />
      {reply.links.length > 0 && (
        <ul className="mt-2.5 flex flex-col gap-1 border-t border-line pt-2">
          {reply.links.map(({ label, title, path }) => (
            <li key={`${path} ${title}`} className="text-label">
              {label}:{' '}
              <Link
                to={path}
                onClick={onFollow}
                className="inline-block py-1 font-semibold text-pitch underline underline-offset-4 hover:text-ink"
              >
                {title}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function TypingIndicator() {
  return (
    <div className="flex gap-1.5 self-start rounded-lg bg-chalk px-4 py-4">
      <span className="sr-only">{copy.typing}</span>
      {['', '[animation-delay:200ms]', '[animation-delay:400ms]'].map((delay) => (
        <span
          key={delay}
          aria-hidden
          className={cn('size-2 animate-breathe rounded-full bg-stone', delay)}
        />
      ))}
    </div>
  )
}

function Suggestions({ onChoose }: { onChoose: (question: string) => void }) {
  const suggestions = useSuggestions()
  return (
    <ul aria-label={copy.suggestions} className="flex flex-col items-end gap-2">
      {suggestions.map(({ id, question }) => (
        <li key={id}>
          <button
            type="button"
            onClick={() => onChoose(question)}
            className="min-h-10 rounded-lg px-4 py-2 text-right text-small font-medium text-pitch ring-1 ring-pitch ring-inset hover:bg-pitch hover:text-chalk"
          >
            {question}
          </button>
        </li>
      ))}
    </ul>
  )
}

interface MessageFormProps {
  inputRef: React.RefObject<HTMLInputElement | null>
  text: string
  onType: (text: string) => void
  isPending: boolean
  /** False if the message was not sent. */
  onSend: (text: string) => boolean
}

function MessageForm({ inputRef, text, onType, isPending, onSend }: MessageFormProps) {
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    if (onSend(text)) onType('')
  }
  return (
    <form
      data-draft={DRAFT}
      onSubmit={submit}
      className="flex items-center gap-2 border-t border-line bg-chalk p-3"
    >
      <input
        ref={inputRef}
        name="message"
        value={text}
        onChange={({ target }) => onType(target.value)}
        maxLength={CHAT.inputMax}
        placeholder={copy.placeholder}
        aria-label={copy.placeholder}
        autoComplete="off"
        className="h-11 min-w-0 flex-1 rounded-md px-3 text-body ring-1 ring-stone ring-inset placeholder:text-stone"
      />
      <button
        type="submit"
        aria-label={copy.send}
        disabled={isPending || text.trim() === ''}
        className="grid size-11 shrink-0 place-items-center rounded-md bg-pitch text-chalk hover:bg-pitch-deep disabled:bg-(--disabled-surface) disabled:text-(--disabled-text)"
      >
        <SendHorizontal aria-hidden className="size-5" />
      </button>
    </form>
  )
}
