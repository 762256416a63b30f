import { useEffect, useEffectEvent } from 'react'
import type { FieldErrors } from 'react-hook-form'

import { APPLICATION } from '@/lib/constants'
import type { useJobRoles } from '@/lib/content/job-openings'
import { regenerateCsrfToken } from '@/lib/forms/csrf-token'
import { localLimiter, minutesLeft } from '@/lib/forms/rate-limit'
import { recordId, submitRecord } from '@/lib/forms/submit'
import { useLateForm } from '@/lib/forms/use-late-form'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'
import { currentUserId } from '@/lib/session/session'

import { copy } from './copy'
import { EMPTY, isName, type ApplicationValues } from './fields'

type Roles = ReturnType<typeof useJobRoles>['data']

/** A role that was chosen above the form. The same role chosen again is another choice. */
export interface RoleChoice {
  roleId: string
}

const limiter = localLimiter(APPLICATION.rateLimit.key, APPLICATION.rateLimit)

const rules = async () => (await import('./schema')).applicationSchema

function complain(errors: FieldErrors<ApplicationValues>) {
  const first = Object.values(errors)[0]?.message
  if (first) notify.error(first)
}

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

function reportFailure(error: unknown) {
  console.error('The application was not accepted:', error)
  notify.error(messages.application.failed)
}

/** Returns the state of the application form: its fields, rules and limits, and how it is sent. */
export function useApplicationForm(choice: RoleChoice | undefined, roles: Roles) {
  const form = useLateForm({ name: 'application', empty: EMPTY, rules })

  const choose = useEffectEvent((roleId: string) => void form.setValue('jobRoleId', roleId))
  useEffect(() => {
    // The list's entries have to be there before one of them can be chosen.
    if (choice && roles?.some(({ id }) => id === choice.roleId)) choose(choice.roleId)
  }, [choice, roles])

  const submit = async (values: ApplicationValues) => {
    if (!isName(values.name.trim())) {
      notify.error(copy.refusedCharacters)
      return
    }
    const wait = limiter.attempt()
    if (wait > 0) {
      notify.error(copy.tooMany(minutesLeft(wait)))
      return
    }
    try {
      await send(values, roles)
      regenerateCsrfToken()
      await form.reset()
      notify.success(messages.application.succeeded)
    } catch (error) {
      reportFailure(error)
    }
  }

  return {
    errors: form.errors,
    isSubmitting: form.isSubmitting,
    register: form.register,
    formProps: form.formProps({ onValid: submit, onInvalid: complain }),
  }
}
