import { useEffect, useState } from 'react'

import { Button } from '@/components/ui/button'
import { CheckboxField, TextField } from '@/components/ui/field'
import { NEWSLETTER } from '@/lib/constants'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'

import { ConsentText } from './consent-text'
import { copy, inputErrors } from './copy'
import type { Outcome } from './submission'
import { useNewsletterForm } from './use-newsletter-form'

const { newsletter } = messages

function announce(outcome: Outcome) {
  if (outcome === 'subscribed') notify.success(newsletter.succeeded)
  else notify.error(newsletter[outcome])
}

/** Shows the footer's sign-up for the newsletter. */
export function FooterForm() {
  const [isSubscribed, setIsSubscribed] = useState(false)
  const form = useNewsletterForm({
    name: 'newsletter',
    texts: inputErrors.footer,
    hasToken: true,
    onOutcome: (outcome) => {
      announce(outcome)
      if (outcome !== 'subscribed') return
      setIsSubscribed(true)
      void form.reset()
    },
  })

  useEffect(() => {
    if (!isSubscribed) return
    const timer = setTimeout(() => setIsSubscribed(false), NEWSLETTER.subscribedMs)
    return () => clearTimeout(timer)
  }, [isSubscribed])

  const { email, consent } = form.values
  const isIncomplete = !consent || email.trim() === ''
  const label = isSubscribed ? copy.subscribed : copy.subscribe

  return (
    <form aria-label={copy.title} {...form.formProps}>
      <fieldset
        disabled={form.isSubmitting}
        className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3 gap-y-4 on-dark sm:gap-x-4"
      >
        <TextField {...form.fields.email} />
        <CheckboxField {...form.fields.consent} label={<ConsentText />} className="col-span-full" />
        <Button
          type="submit"
          variant="floodlight"
          disabled={form.isSubmitting || isSubscribed || isIncomplete}
          className="col-start-2 row-start-1 mt-7.5 max-sm:px-4 sm:min-w-40"
        >
          {form.isSubmitting ? copy.subscribing : label}
        </Button>
      </fieldset>
    </form>
  )
}
