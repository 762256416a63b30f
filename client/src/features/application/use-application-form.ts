import { useEffect, useEffectEvent } from 'react'
import type { FieldErrors } from 'react-hook-form'

import type { useJobRoles } from '@/lib/content/job-openings'
import { useLateForm } from '@/lib/forms/use-late-form'
import { notify } from '@/lib/notices/notify'

import { EMPTY, type ApplicationValues } from './fields'

type Roles = ReturnType<typeof useJobRoles>['data']

/** A role that was chosen above the form. The same role chosen again is another choice. */
export interface RoleChoice {
  roleId: string
}

function complain(errors: FieldErrors<ApplicationValues>) {
  const first = Object.values(errors)[0]?.message
  if (first) notify.error(first)
}

/** Returns the state of the application form: its fields, rules and limits, and how it is sent. */
export function useApplicationForm(choice: RoleChoice | undefined, roles: Roles) {
  const form = useLateForm({
    name: 'application',
    empty: EMPTY,
    load: () => import('./submission'),
  })

  const choose = useEffectEvent((roleId: string) => void form.setValue('jobRoleId', roleId))
  useEffect(() => {
    // The list's entries have to be there before one of them can be chosen.
    if (choice && roles?.some(({ id }) => id === choice.roleId)) choose(choice.roleId)
  }, [choice, roles])

  return {
    errors: form.errors,
    isSubmitting: form.isSubmitting,
    register: form.register,
    formProps: form.formProps({
      onValid: async (values, { submit }) => {
        if (await submit(values, roles)) await form.reset()
      },
      onInvalid: complain,
    }),
  }
}
