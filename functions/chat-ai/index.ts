// The site's assistant: finds what the site says about a question and answers with it. With OPENAI_API_KEY a language
// model words the answer; without, and whenever the model fails, the passages speak for themselves.

import { callAsService } from '../_shared/backend.ts'
import { callerAddress, events, json, Refusal, servePost } from '../_shared/http.ts'
import { hasActiveContent, hasControlCharacters } from '../_shared/text.ts'
import { answerFromTables } from './facts.ts'
import { inEnglish, isGerman } from './german.ts'
import { ask, configured, type Failure, type Grounding, ModelError } from './model.ts'
import { type Answer, compose, find } from './passages.ts'
import { cite, type Language, phrase, PHRASES, refuse } from './phrases.ts'

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

/** What the site says about a question: the answer without a model, and what a model may use. */
interface Knowledge {
  answer: Answer
  grounding: Grounding[]
}

/** Returns what the site says about a question; null if it says nothing. */
async function lookUp(question: string): Promise<Knowledge | null> {
  const [answer, passages] = await Promise.all([answerFromTables(question), find(question)])
  if (answer !== null) {
    // Not under the question: what visitors write is no part of the instructions.
    const told = answer.sources.slice(0, 1).map((source) => ({ ...source, body: answer.text }))
    return { answer, grounding: [...told, ...passages] }
  }
  const [best, ...others] = passages
  return best === undefined ? null : { answer: compose([best, ...others]), grounding: passages }
}

const GREETING =
  /^\W*(hi|hello|hey|good (morning|afternoon|evening)|thanks?|thank you|hallo|guten (morgen|tag|abend)|servus|danke)\W*$/i

/** Answers a question; `send` gets the words as they come. */
async function reply(question: string, signal: AbortSignal, send: Send): Promise<Reply> {
  const whole = (response: string): Reply => {
    send(response)
    return { response }
  }
  const language: Language = isGerman(question) ? 'de' : 'en'
  if (GREETING.test(question)) return whole(PHRASES[language].greeting)
  const asked = language === 'de' ? inEnglish(question) : question
  const known = asked === null ? null : await lookUp(asked)
  // Of what the site says nothing about, the model knows nothing either.
  if (known === null) return whole(refuse(language))
  const composed = phrase(known.answer, language)
  const model = configured()
  if (model === null) return whole(composed)
  let response = ''
  const add: Send = (words) => {
    response += words
    send(words)
  }
  try {
    for await (const words of ask(model, question, known.grounding, signal)) add(words)
    if (response === '') throw new ModelError('service_unavailable', 'the model said nothing')
    add(`\n\n${cite(known.answer.sources.slice(0, 1), language)}`)
    return { response }
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    console.error(error.message)
    if (response === '') add(composed)
    return { response, error: error.failure }
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
