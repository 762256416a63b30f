import { APPLICATION } from '@/lib/constants'
import type { useJobRoles } from '@/lib/content/job-openings'
import { regenerateCsrfToken } from '@/lib/forms/csrf-token'
import { localLimiter, minutesLeft } from '@/lib/forms/rate-limit'
import { recordId, submitRecord } from '@/lib/forms/submit'
import { submissionMessages } from '@/lib/notices/submission-messages'
import { notify } from '@/lib/notices/notify'
import { currentUserId } from '@/lib/session/session'

import { copy } from './copy'
import { isName, type ApplicationValues } from './fields'

export { applicationSchema as rules } from './schema'

type Roles = ReturnType<typeof useJobRoles>['data']

const limiter = localLimiter(APPLICATION.rateLimit.key, APPLICATION.rateLimit)

async function send({ name, email, message, jobRoleId }: ApplicationValues, roles: Roles) {
  await submitRecord('job_application', {
    id: recordId(),
    name: name.trim(),
    email: email.trim().toLowerCase(),
    message: message.trim() || null,
    job_role_id: jobRoleId || null,
    job_role_title: roles?.find(({ id }) => id === jobRoleId)?.title ?? null,
    user_id: currentUserId(),
  })
}

/** Sends what is in the form and tells the visitor how that went. Returns whether it was received. */
export async function submit(values: ApplicationValues, roles: Roles) {
  if (!isName(values.name.trim())) {
    notify.error(copy.refusedCharacters)
    return false
  }
  const wait = limiter.attempt()
  if (wait > 0) {
    notify.error(copy.tooMany(minutesLeft(wait)))
    return false
  }
  try {
    await send(values, roles)
    regenerateCsrfToken()
    notify.success(submissionMessages.application.succeeded)
    return true
  } catch (error) {
    console.error('The application was not accepted:', error)
    notify.error(submissionMessages.application.failed)
    return false
  }
}
