import { Link } from '@/components/layout/link'
import { Button } from '@/components/ui/button'
import { SelectField, TextareaField, TextField } from '@/components/ui/field'
import { APPLICATION } from '@/lib/constants'
import { useJobRoles } from '@/lib/content/job-openings'
import { messages } from '@/lib/notices/messages'
import { useErrorToast } from '@/lib/notices/use-error-toast'
import { useSession } from '@/lib/session/session'

import { copy } from './copy'
import { useApplicationForm, type RoleChoice } from './use-application-form'

/** Shows the application form. Its input is kept until it has been received. */
export function ApplicationForm({ choice }: { choice: RoleChoice | undefined }) {
  const { data: roles, error: rolesError } = useJobRoles()
  useErrorToast(roles ? null : rolesError, messages.jobs.rolesFailed)
  const { errors, isSubmitting, register, formProps } = useApplicationForm(choice, roles)

  return (
    <form aria-label={copy.title} {...formProps} className="h-full rounded-lg bg-chalk p-6 sm:p-9">
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
        <PrivacyNote />
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

/** Says what is done with an application, and leads to the policy. */
function PrivacyNote() {
  return (
    <p className="text-label text-stone">
      {copy.note}{' '}
      <Link to="/privacy" className="font-semibold underline underline-offset-4">
        {copy.policy}
      </Link>
      .
    </p>
  )
}

/** Says what signing in is good for here, to those who have not. */
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
