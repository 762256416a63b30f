// The site's assistant: finds what the site says about a question and answers with it. With OPENAI_API_KEY a language
// model words the answer; without, and whenever the model fails, the passages speak for themselves.

import { callAsService } from '../_shared/backend.ts'
import { callerAddress, events, json, Refusal, servePost } from '../_shared/http.ts'
import { hasActiveContent, hasControlCharacters } from '../_shared/text.ts'
import { ask, configured, type Failure, ModelError } from './model.ts'
import { cite, compose, find } from './passages.ts'

const LIMIT = 16_384
const LONGEST = 1000
/** Questions of an address within a minute. */
const MOST = 20

/** What the chat gets: words to show, and the kind of failure if there was one. */
interface Reply {
  response: string
  error?: Failure
}

type Send = (words: string) => void

function questionIn(body: unknown): string {
  const message = (body as { message?: unknown } | null)?.message
  const question = typeof message === 'string' ? message.trim() : ''
  const isValid =
    question !== '' &&
    question.length <= LONGEST &&
    !hasControlCharacters(question) &&
    !hasActiveContent(question)
  if (!isValid) throw new Refusal(400, 'Invalid input. Please try again with a different message.')
  return question
}

/** Answers a question; `send` gets the words as they come. */
async function reply(question: string, signal: AbortSignal, send: Send): Promise<Reply> {
  const passages = await find(question)
  const composed = () => {
    const response = compose(question, passages)
    send(response)
    return response
  }
  const model = configured()
  const [best] = passages
  // Of what the site says nothing about, the model knows nothing either.
  if (model === null || best === undefined) return { response: composed() }
  let response = ''
  const add: Send = (words) => {
    response += words
    send(words)
  }
  try {
    for await (const words of ask(model, question, passages, signal)) add(words)
    if (response === '') throw new ModelError('service_unavailable', 'the model said nothing')
    add(`\n\n${cite(best)}`)
    return { response }
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    console.error(error.message)
    return { response: response === '' ? composed() : response, error: error.failure }
  }
}

/** Returns the reply as events: `delta` with words as they come, at the end `done` with the whole. */
function streamed(question: string): Response {
  const encoder = new TextEncoder()
  const leaving = new AbortController()
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const send = (event: string, data: unknown) => {
        if (leaving.signal.aborted) return
        controller.enqueue(encoder.encode(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`))
      }
      try {
        const whole = await reply(question, leaving.signal, (text) => send('delta', { text }))
        send('done', whole)
      } catch (error) {
        console.error(error)
        send('done', { response: null, error: 'service_unavailable' })
      }
      if (!leaving.signal.aborted) controller.close()
    },
    cancel: () => leaving.abort(),
  })
  return events(body)
}

Deno.serve(
  servePost(LIMIT, async (body, request) => {
    const question = questionIn(body)
    const client = callerAddress(request)
    const wait = await callAsService<number>('count_call', {
      bucket: 'chat',
      client,
      most: MOST,
      seconds: 60,
    })
    if (wait > 0) {
      const response = `That was a lot of questions. Please ask again in ${wait} seconds.`
      return json({ response, error: 'rate_limited' }, 200, { 'retry-after': String(wait) })
    }
    if (request.headers.get('accept')?.includes('text/event-stream')) return streamed(question)
    return json(await reply(question, request.signal, () => {}))
  }),
)
