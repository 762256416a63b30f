import { useCallback, useMemo, useRef, useState } from 'react'

import { chatMessages } from '@/lib/notices/chat-messages'
import { notify } from '@/lib/notices/notify'
import { hasActiveContent, hasControlCharacters } from '@shared/text'

import { ask, type Reply } from './ask'

export interface ChatMessage {
  id: number
  text: string
  sender: 'user' | 'bot'
  timestamp: Date
}

interface Conversation {
  messages: readonly ChatMessage[]
  isPending: boolean
  /** The kind of the last reply's failure. */
  failure: string | null
}

const WELCOME_ID = -1

const EMPTY: Conversation = { messages: [], isPending: false, failure: null }

function append({ messages }: Conversation, sender: ChatMessage['sender'], text: string) {
  return [...messages, { id: messages.length, text, sender, timestamp: new Date() }]
}

function withReply(now: Conversation, { text, failure }: Reply, replaces: boolean): Conversation {
  const kept =
    replaces && now.messages.at(-1)?.sender === 'bot' ? now.messages.slice(0, -1) : now.messages
  return { messages: append({ ...now, messages: kept }, 'bot', text), isPending: false, failure }
}

/** Returns whether a message may be sent. */
function isSafe(text: string) {
  return !hasControlCharacters(text) && !hasActiveContent(text)
}

/** Returns what was said between visitor and assistant. `welcome` is the first message, once it is known. */
export function useConversation(welcome: string | undefined) {
  const [state, setState] = useState(EMPTY)
  const [openedAt] = useState(() => new Date())
  const isPending = useRef(false)

  const request = useCallback(async (text: string, replaces: boolean) => {
    isPending.current = true
    setState((now) => ({ ...now, isPending: true, failure: null }))
    const reply = await ask(text)
    isPending.current = false
    setState((now) => withReply(now, reply, replaces))
  }, [])

  /** Sends a message; false if it was not sent. */
  const send = useCallback(
    (input: string) => {
      const text = input.trim()
      if (text === '' || isPending.current) return false
      if (!isSafe(text)) {
        notify.error(chatMessages.invalidInput)
        return false
      }
      notify.withdraw(chatMessages.invalidInput)
      setState((now) => ({ ...now, messages: append(now, 'user', text) }))
      void request(text, false)
      return true
    },
    [request],
  )

  /** Asks the last question again; the reply replaces the failed one. */
  const retry = useCallback(() => {
    const last = state.messages.findLast(({ sender }) => sender === 'user')
    if (last && !isPending.current) void request(last.text, true)
  }, [state.messages, request])

  const clearFailure = useCallback(() => setState((now) => ({ ...now, failure: null })), [])

  const messages = useMemo((): readonly ChatMessage[] => {
    if (welcome === undefined) return state.messages
    return [
      { id: WELCOME_ID, text: welcome, sender: 'bot', timestamp: openedAt },
      ...state.messages,
    ]
  }, [welcome, openedAt, state.messages])

  return { ...state, messages, send, retry, clearFailure }
}
