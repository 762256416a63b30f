import { CONTACT } from '@/lib/constants'
import { regenerateCsrfToken } from '@/lib/forms/csrf-token'
import { localLimiter, minutesLeft } from '@/lib/forms/rate-limit'
import { recordId, submitRecord } from '@/lib/forms/submit'
import { submissionMessages } from '@/lib/notices/submission-messages'
import { notify } from '@/lib/notices/notify'

import { copy } from './copy'
import type { ContactValues } from './fields'

export { contactSchema as rules } from './schema'

const limiter = localLimiter('contact_submissions', CONTACT.rateLimit)

async function send({ name, company, email, message }: ContactValues) {
  await submitRecord('contact_submission', {
    id: recordId(),
    name: name.trim(),
    company: company.trim(),
    email: email.trim().toLowerCase(),
    message: message.trim() || null,
  })
}

/** Sends what is in the form and tells the visitor how that went. Returns whether it was received. */
export async function submit(values: ContactValues) {
  const wait = limiter.attempt()
  if (wait > 0) {
    notify.error(copy.tooMany(minutesLeft(wait)))
    return false
  }
  const { succeeded, failed } = submissionMessages.contact
  try {
    await send(values)
    regenerateCsrfToken()
    notify.success(succeeded.title, succeeded.description)
    return true
  } catch (error) {
    console.error('The contact request was not accepted:', error)
    notify.error(failed.title, failed.description)
    return false
  }
}
