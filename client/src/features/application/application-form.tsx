import { useEffect, useEffectEvent } from 'react'
import type { FieldErrors } from 'react-hook-form'
import { Link } from 'react-router-dom'

import { Button } from '@/components/ui/button'
import { SelectField, TextareaField, TextField } from '@/components/ui/field'
import { APPLICATION } from '@/lib/constants'
import { regenerateCsrfToken } from '@/lib/forms/csrf-token'
import { useJobRoles } from '@/lib/content/job-openings'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'
import { localLimiter, minutesLeft } from '@/lib/forms/rate-limit'
import { currentUserId, useSession } from '@/lib/session/session'
import { recordId, submitRecord } from '@/lib/forms/submit'
import { useLateForm } from '@/lib/forms/use-late-form'
import { useErrorToast } from '@/lib/notices/use-error-toast'

import { copy } from './copy'
import { EMPTY, isName, type ApplicationValues } from './fields'

const limiter = localLimiter(APPLICATION.rateLimit.key, APPLICATION.rateLimit)

const rules = async () => (await import('./schema')).applicationSchema

function complain(errors: FieldErrors<ApplicationValues>) {
  const first = Object.values(errors)[0]?.message
  if (first) notify.error(first)
}

function reportFailure(error: unknown) {
  console.error('The application was not accepted:', error)
  notify.error(messages.application.failed)
}

/** A role that was chosen above the form. The same role chosen again is another choice. */
export interface RoleChoice {
  roleId: string
}

interface ApplicationFormProps {
  choice: RoleChoice | undefined
}

/** The application form. Its input is kept until it has been received. */
export function ApplicationForm({ choice }: ApplicationFormProps) {
  const { data: roles, error: rolesError } = useJobRoles()
  useErrorToast(roles ? null : rolesError, messages.jobs.rolesFailed)
  const form = useLateForm({ empty: EMPTY, rules })
  const { errors, isSubmitting, register } = form

  const choose = useEffectEvent((roleId: string) => {
    form.setValue('jobRoleId', roleId).catch((error: unknown) => {
      console.error('The role could not be chosen:', error)
    })
  })
  useEffect(() => {
    // The list's entries have to be there before one of them can be chosen.
    if (choice && roles?.some(({ id }) => id === choice.roleId)) choose(choice.roleId)
  }, [choice, roles])

  const submit = async ({ name, email, message, jobRoleId }: ApplicationValues) => {
    if (!isName(name.trim())) {
      notify.error(copy.refusedCharacters)
      return
    }
    const wait = limiter.attempt()
    if (wait > 0) {
      notify.error(copy.tooMany(minutesLeft(wait)))
      return
    }
    try {
      await submitRecord('job_application', {
        id: recordId(),
        name: name.trim(),
        email: email.trim().toLowerCase(),
        message: message.trim() || null,
        job_role_id: jobRoleId || null,
        job_role_title: roles?.find(({ id }) => id === jobRoleId)?.title ?? null,
        user_id: currentUserId(),
      })
      regenerateCsrfToken()
      await form.reset()
      notify.success(messages.application.succeeded)
    } catch (error) {
      reportFailure(error)
    }
  }

  return (
    <form
      aria-label={copy.title}
      {...form.formProps({
        onValid: submit,
        onInvalid: complain,
        onUnavailable: reportFailure,
      })}
      className="h-full rounded-lg bg-chalk p-6 sm:p-9"
    >
      <fieldset
        disabled={isSubmitting}
        className="flex h-full flex-col gap-5 [&>:has(textarea)]:grow"
      >
        <div className="grid gap-5 sm:grid-cols-2">
          <TextField
            {...register('name')}
            label={copy.name}
            error={errors.name?.message}
            autoComplete="name"
            required
          />
          <TextField
            {...register('email')}
            label={copy.email}
            error={errors.email?.message}
            type="email"
            autoComplete="email"
            required
          />
        </div>
        <SelectField {...register('jobRoleId')} label={copy.role} isOptional>
          <option value="">{copy.rolePlaceholder}</option>
          {roles?.map(({ id, title }) => (
            <option key={id} value={id}>
              {title}
            </option>
          ))}
        </SelectField>
        <TextareaField
          {...register('message')}
          label={copy.message}
          error={errors.message?.message}
          rows={APPLICATION.message.rows}
          isOptional
        />
        <p className="text-label text-stone">
          {copy.note}{' '}
          <Link to="/privacy" className="font-semibold underline underline-offset-4">
            {copy.policy}
          </Link>
          .
        </p>
        <div className="flex flex-wrap items-center gap-x-8 gap-y-4">
          <Button type="submit" size="large">
            {isSubmitting ? copy.submitting : copy.submit}
          </Button>
          <LoginHint />
        </div>
      </fieldset>
    </form>
  )
}

/** What signing in is good for here, for those who have not. */
function LoginHint() {
  if (useSession()) return null
  return (
    <p className="text-small">
      {copy.visitor}{' '}
      <Link to="/auth" className="font-semibold text-pitch underline underline-offset-4">
        {copy.login}
      </Link>
    </p>
  )
}
