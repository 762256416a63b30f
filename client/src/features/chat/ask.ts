import { CHAT } from '@/lib/constants'
import { chatMessages } from '@/lib/notices/chat-messages'
import { notify } from '@/lib/notices/notify'
import { getSupabase } from '@/lib/supabase/get-supabase'

/** The assistant's function. */
const FUNCTION_NAME = 'chat-ai'

/** The result: the text to show, and the kind of failure if there was one. */
export interface Reply {
  text: string
  failure: string | null
}

interface Answer {
  response?: string | null
  error?: string | null
}

async function fetchReply(message: string): Promise<Reply> {
  try {
    const supabase = await getSupabase()
    const answer = await supabase.functions.invoke<Answer>(FUNCTION_NAME, { body: { message } })
    if (answer.error) throw answer.error as Error
    notify.withdraw(chatMessages.unreachableToast)
    const { response, error } = answer.data ?? {}
    const text = response?.trim() ?? ''
    return { text: text === '' ? chatMessages.failed : text, failure: error ?? null }
  } catch (error) {
    console.error('The assistant did not answer:', error)
    notify.error(chatMessages.unreachableToast)
    return { text: chatMessages.unreachable, failure: 'unreachable' }
  }
}

/** Asks the assistant. The reply is delayed a little, since an immediate one would look as if the question was not read. */
export async function ask(message: string): Promise<Reply> {
  const pause = new Promise((resolve) => setTimeout(resolve, CHAT.replyDelayMs))
  const [reply] = await Promise.all([fetchReply(message), pause])
  return reply
}

/** Returns the label of the retry button. */
export function retryLabel(failure: string) {
  const { retry } = chatMessages
  return failure === 'openai_quota_exceeded' || failure === 'configuration_error'
    ? retry[failure]
    : retry.other
}
