// Takes what visitors send with the contact form and the application form, keeps it, and tells the team by mail.

import { callAsService, DatabaseError, isService, signedInUser } from '../_shared/backend.ts'
import { callerAddress, json, Refusal, servePost } from '../_shared/http.ts'
import { deliver } from './mail.ts'
import { validate } from './validate.ts'

declare const EdgeRuntime: { waitUntil<T>(promise: Promise<T>): Promise<T> }

const LIMIT = 32_768
/** SQLSTATEs of checks and values that the database refused (PostgreSQL documentation, appendix A). */
const REFUSAL_STATES = ['22023', '22P02', '22001', '23514', '23502']

interface Receipt {
  status: 'stored' | 'known' | 'limited'
  seconds?: number
}

async function receive(body: unknown, request: Request): Promise<Response> {
  const { type, lead } = validate(body)
  if (type === 'job_application') {
    // The token says who it is, the record only claims it.
    lead.user_id = lead.user_id ? await signedInUser(request) : null
  }
  const client = callerAddress(request)
  const received = await callAsService<Receipt>('receive_lead', {
    type,
    record: lead,
    client,
  }).catch((error: unknown) => {
    if (error instanceof DatabaseError && REFUSAL_STATES.includes(error.code ?? '')) {
      console.warn(error.message)
      throw new Refusal(400, 'Invalid input detected. Please try again with different content.')
    }
    throw error
  })
  if (received.status === 'limited') {
    const seconds = received.seconds ?? 60
    const minutes = Math.ceil(seconds / 60)
    throw new Refusal(
      429,
      `Too many attempts. Please wait ${minutes} minutes before trying again.`,
      seconds,
    )
  }
  EdgeRuntime.waitUntil(deliver())
  return json({ success: true, id: lead.id })
}

Deno.serve(
  servePost(LIMIT, async (body, request) => {
    const isScheduled =
      (body as { type?: unknown } | null)?.type === 'scheduled' && isService(request)
    if (!isScheduled) return await receive(body, request)
    await deliver()
    return json({ success: true })
  }),
)
