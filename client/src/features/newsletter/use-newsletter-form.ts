import { zodResolver } from '@hookform/resolvers/zod'
import { useMemo, type ChangeEvent } from 'react'
import { useForm } from 'react-hook-form'

import { NEWSLETTER } from '@/lib/constants'
import { notify } from '@/lib/notices/notify'
import { useLimitedInput } from '@/lib/forms/use-limited-input'

import { copy, inputErrors, type FormTexts } from './copy'
import { EMPTY, newsletterSchema, type NewsletterValues } from './schema'
import { mayAttempt, subscribe, type Outcome } from './subscribe'

interface Options {
  texts: FormTexts
  hasToken: boolean
  onOutcome: (outcome: Outcome) => void
}

/** What the two forms of the newsletter share: fields, rules, limits, sending. */
export function useNewsletterForm({ texts, hasToken, onOutcome }: Options) {
  const resolver = useMemo(
    () => zodResolver<NewsletterValues, unknown, NewsletterValues>(newsletterSchema(texts)),
    [texts],
  )
  const form = useForm<NewsletterValues>({ resolver, defaultValues: EMPTY })
  const { errors, isSubmitting } = form.formState

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
    reset: () => form.reset(),
    watch: form.watch,
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
          void (limited.accept(event) && email.onChange(event)),
      },
      consent: { ...form.register('consent'), error: errors.consent?.message },
    },
    submit: form.handleSubmit(
      async (values) => {
        if (!mayAttempt()) {
          notify.error(copy.tooMany)
          return
        }
        onOutcome(await subscribe({ email: values.email, hasToken }))
      },
      ({ email: badEmail, consent }) => {
        const message = badEmail?.message ?? consent?.message
        if (message) notify.error(message)
      },
    ),
  }
}
