import type { ChangeEvent } from 'react'

import { NEWSLETTER } from '@/lib/constants'
import { notify } from '@/lib/notices/notify'
import { useLateForm } from '@/lib/forms/use-late-form'
import { useLimitedInput } from '@/lib/forms/use-limited-input'

import { copy, inputErrors, type FormTexts } from './copy'
import type { Outcome } from './submission'

const EMPTY = { email: '', consent: false }

interface Options {
  /** The form's name among all forms of the site. */
  name: string
  texts: FormTexts
  hasToken: boolean
  onOutcome: (outcome: Outcome) => void
}

/** Returns what the two forms of the newsletter share: fields, rules, limits, sending. */
export function useNewsletterForm({ name, texts, hasToken, onOutcome }: Options) {
  const form = useLateForm({
    name,
    empty: EMPTY,
    load: async () => {
      const { newsletterSchema, ...code } = await import('./submission')
      return { ...code, rules: newsletterSchema(texts) }
    },
  })
  const { errors, isSubmitting, values } = form

  const limited = useLimitedInput((value) => {
    const { title, description } = texts.tooLong
    if (value.length > NEWSLETTER.email.max) notify.error(title, description)
    else if (/[<>]/.test(value)) notify.error(inputErrors.typedCharacters)
    else return false
    return true
  })

  const email = form.register('email')
  return {
    isSubmitting,
    values,
    reset: form.reset,
    fields: {
      email: {
        ...email,
        label: copy.email,
        type: 'email',
        autoComplete: 'email',
        placeholder: copy.placeholder,
        error: errors.email?.message,
        onFocus: limited.onFocus,
        onChange: (event: ChangeEvent<HTMLInputElement>) =>
          void (limited.accept(event) && email.onChange?.(event)),
      },
      consent: { ...form.register('consent'), error: errors.consent?.message },
    },
    formProps: form.formProps({
      onValid: async ({ email: address }, { mayAttempt, subscribe }) => {
        if (!mayAttempt()) {
          notify.error(copy.tooMany)
          return
        }
        onOutcome(await subscribe({ email: address, hasToken }))
      },
      onInvalid: ({ email: badEmail, consent }) => {
        const message = badEmail?.message ?? consent?.message
        if (message) notify.error(message)
      },
    }),
  }
}
