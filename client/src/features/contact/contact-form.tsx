import type { FieldErrors, UseFormRegisterReturn } from 'react-hook-form'

import { Button } from '@/components/ui/button'
import { TextareaField, TextField } from '@/components/ui/field'
import { CONTACT } from '@/lib/constants'
import { notify } from '@/lib/notices/notify'
import { useLateForm } from '@/lib/forms/use-late-form'
import { useLimitedInput } from '@/lib/forms/use-limited-input'

import { copy } from './copy'
import { EMPTY, LABELS, REQUIRED, type ContactField, type ContactValues } from './fields'

function complain(errors: FieldErrors<ContactValues>) {
  const texts = Object.values(errors).flatMap(({ message }) => message ?? [])
  if (texts.includes(REQUIRED)) notify.error(copy.missingTitle, copy.missing)
  else if (texts[0]) notify.error(texts[0])
}

/** Shows the form with which a club requests a demo. Its input is kept until it has been received. */
export function ContactForm() {
  const form = useLateForm({ name: 'contact', empty: EMPTY, load: () => import('./submission') })
  const { errors, isSubmitting } = form

  const field = (name: ContactField) => ({
    ...form.register(name),
    name,
    label: LABELS[name],
    error: errors[name]?.message,
  })

  return (
    <form
      aria-label={copy.formLabel}
      {...form.formProps({
        onValid: async (values, { submit }) => {
          if (await submit(values)) await form.reset()
        },
        onInvalid: complain,
      })}
      className="h-full rounded-lg bg-paper p-5 text-ink sm:p-9"
    >
      <fieldset
        disabled={isSubmitting}
        className="flex h-full flex-col gap-4 [&>:has(textarea)]:grow"
      >
        <div className="grid gap-4 sm:grid-cols-2">
          <LimitedField {...field('name')} autoComplete="name" required />
          <LimitedField {...field('company')} autoComplete="organization" required />
        </div>
        <LimitedField {...field('email')} type="email" autoComplete="email" required />
        <LimitedField {...field('message')} isOptional />
        <p className="text-label text-stone">{copy.privacy}</p>
        <Button type="submit" size="large" className="self-start">
          {isSubmitting ? copy.submitting : copy.submit}
        </Button>
      </fieldset>
    </form>
  )
}

type LimitedFieldProps = Omit<Partial<UseFormRegisterReturn>, 'name'> & {
  name: ContactField
  label: string
  error: string | undefined
  type?: string
  autoComplete?: string
  required?: boolean
  isOptional?: boolean
}

/** Shows a field with a limit on its length, which shows a message when more is typed. */
function LimitedField({ onChange, ...props }: LimitedFieldProps) {
  const { max } = CONTACT[props.name]
  const limited = useLimitedInput((value) => {
    if (value.length <= max) return false
    notify.error(copy.tooLong(props.label, max))
    return true
  })
  const handlers = {
    onFocus: limited.onFocus,
    onChange: (event: Parameters<typeof limited.accept>[0]) =>
      void (limited.accept(event) && onChange?.(event)),
  }
  return props.name === 'message' ? (
    <TextareaField rows={4} {...props} {...handlers} />
  ) : (
    <TextField {...props} {...handlers} />
  )
}
