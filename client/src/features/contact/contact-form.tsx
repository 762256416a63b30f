import type { FieldErrors, UseFormRegisterReturn } from 'react-hook-form'

import { Button } from '@/components/ui/button'
import { TextareaField, TextField } from '@/components/ui/field'
import { CONTACT } from '@/lib/constants'
import { regenerateCsrfToken } from '@/lib/forms/csrf-token'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'
import { localLimiter, minutesLeft } from '@/lib/forms/rate-limit'
import { recordId, submitRecord } from '@/lib/forms/submit'
import { useLateForm } from '@/lib/forms/use-late-form'
import { useLimitedInput } from '@/lib/forms/use-limited-input'

import { copy } from './copy'
import { EMPTY, LABELS, REQUIRED, type ContactField, type ContactValues } from './fields'

const limiter = localLimiter('contact_submissions', CONTACT.rateLimit)

const rules = async () => (await import('./schema')).contactSchema

function complain(errors: FieldErrors<ContactValues>) {
  const texts = Object.values(errors).flatMap(({ message }) => message ?? [])
  if (texts.includes(REQUIRED)) notify.error(copy.missingTitle, copy.missing)
  else if (texts[0]) notify.error(texts[0])
}

async function send({ name, company, email, message }: ContactValues) {
  await submitRecord('contact_submission', {
    id: recordId(),
    name: name.trim(),
    company: company.trim(),
    email: email.trim().toLowerCase(),
    message: message.trim() || null,
  })
}

function reportFailure(error: unknown) {
  console.error('The contact request was not accepted:', error)
  notify.error(messages.contact.failed.title, messages.contact.failed.description)
}

/** Shows the form with which a club requests a demo. Its input is kept until it has been received. */
export function ContactForm() {
  const form = useLateForm({ name: 'contact', empty: EMPTY, rules })
  const { errors, isSubmitting } = form

  const submit = async (values: ContactValues) => {
    const wait = limiter.attempt()
    if (wait > 0) {
      notify.error(copy.tooMany(minutesLeft(wait)))
      return
    }
    try {
      await send(values)
      regenerateCsrfToken()
      await form.reset()
      notify.success(messages.contact.succeeded.title, messages.contact.succeeded.description)
    } catch (error) {
      reportFailure(error)
    }
  }

  const field = (name: ContactField) => ({
    ...form.register(name),
    name,
    label: LABELS[name],
    error: errors[name]?.message,
  })

  return (
    <form
      aria-label={copy.formLabel}
      {...form.formProps({ onValid: submit, onInvalid: complain })}
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
