import { randomBytes, randomUUID } from 'node:crypto'

import type { Server } from './server.mjs'

/** Returns a token as the site's forms send it. */
export const csrfToken = () => randomBytes(32).toString('hex')

/** Returns what the site sends to contact-notification with the contact form; `changes` are to the record. */
export function contactSubmission(changes: object = {}) {
  const record = {
    id: randomUUID(),
    name: 'Ada Lovelace',
    company: 'Harbour Row FC',
    email: 'ada@club.example',
    message: 'Call me.',
  }
  return {
    record: { ...record, ...changes },
    csrf_token: csrfToken(),
    type: 'contact_submission',
  }
}

/** Calls a function of `server` with JSON, as a visitor unless `headers` say otherwise. */
export function callFunction(
  { access }: Server,
  name: string,
  body: object,
  headers: Record<string, string> = {},
) {
  return fetch(`${access.url}/functions/v1/${name}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${access.anonKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
  })
}
