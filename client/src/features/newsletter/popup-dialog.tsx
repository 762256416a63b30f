import X from 'lucide-react/icons/x'
import { Dialog } from 'radix-ui'
import { useRef, useState } from 'react'

import { Button } from '@/components/ui/button'
import { CheckboxField, TextField } from '@/components/ui/field'
import { Shade } from '@/components/ui/shade'
import { rememberFocus } from '@/lib/browser/focus'
import { messages } from '@/lib/notices/messages'
import { notify } from '@/lib/notices/notify'

import { ConsentText } from './consent-text'
import { copy, inputErrors } from './copy'
import { popupCopy } from './popup-copy'
import { useNewsletterForm } from './use-newsletter-form'

const { newsletterPopup } = messages

/** Shows the offer in a dialog, which holds the keyboard until it is closed. */
export default function PopupDialog({ onClose }: { onClose: () => void }) {
  // A dialog without a trigger button does not know which element had the focus.
  const [giveFocusBack] = useState(rememberFocus)
  const titleRef = useRef<HTMLHeadingElement>(null)
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        <Shade />
        <Dialog.Content
          // The first field would open a phone's keyboard over the offer, before it has been read.
          onOpenAutoFocus={(event) => {
            event.preventDefault()
            titleRef.current?.focus()
          }}
          onCloseAutoFocus={giveFocusBack}
          className="fixed inset-x-3 bottom-3 z-50 max-h-[calc(100dvh-1.5rem)] animate-rise-in overflow-y-auto rounded-lg bg-paper shadow-float sm:inset-0 sm:m-auto sm:h-fit sm:max-w-xl"
        >
          <div className="bg-pitch-deep p-6 pr-14 text-chalk sm:p-9 sm:pr-16">
            <Dialog.Title ref={titleRef} tabIndex={-1} className="text-heading">
              {popupCopy.title}
            </Dialog.Title>
            <Dialog.Description className="mt-2 text-small text-haze">
              {popupCopy.lead}
            </Dialog.Description>
          </div>
          <Dialog.Close
            aria-label={popupCopy.close}
            className="absolute top-3 right-3 grid size-11 place-items-center rounded-md text-chalk hover:bg-pitch"
          >
            <X aria-hidden className="size-6" />
          </Dialog.Close>
          <div className="p-6 sm:p-9">
            <ul className="grid gap-3 sm:grid-cols-2">
              {popupCopy.benefits.map(({ title, text }) => (
                <li key={title} className="rounded-md border-t-4 border-pitch bg-chalk p-4">
                  <p className="font-display font-semibold">{title}</p>
                  <p className="mt-1 text-small text-stone">{text}</p>
                </li>
              ))}
            </ul>
            <PopupForm onClose={onClose} />
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function PopupForm({ onClose }: { onClose: () => void }) {
  const form = useNewsletterForm({
    name: 'newsletter-popup',
    texts: inputErrors.popup,
    hasToken: false,
    onOutcome: (outcome) => {
      if (outcome === 'subscribed') {
        notify.success(newsletterPopup.succeeded.title, newsletterPopup.succeeded.description)
        onClose()
        return
      }
      const { title, description } =
        outcome === 'duplicate' ? newsletterPopup.duplicate : newsletterPopup.failed
      notify.error(title, description)
    },
  })
  return (
    <form className="mt-6" {...form.formProps}>
      <fieldset disabled={form.isSubmitting} className="flex flex-col gap-4">
        <TextField {...form.fields.email} />
        <CheckboxField {...form.fields.consent} label={<ConsentText />} />
        <div className="mt-2 flex flex-wrap-reverse justify-end gap-3">
          <Button variant="ghost" onClick={onClose}>
            {popupCopy.decline}
          </Button>
          <Button type="submit">{form.isSubmitting ? copy.subscribing : copy.subscribe}</Button>
        </div>
      </fieldset>
    </form>
  )
}
