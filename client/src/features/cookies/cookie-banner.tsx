import X from 'lucide-react/icons/x'
import { useEffect, useRef } from 'react'

import { Link } from '@/components/layout/link'
import { Button } from '@/components/ui/button'
import { chooseConsent, resumeConsent, useConsentRequest } from '@/lib/privacy/consent'
import { COOKIE_BANNER_DELAY_MS } from '@/lib/constants'
import { rememberFocus } from '@/lib/browser/focus'
import { useAfter } from '@/lib/browser/use-after'

const copy = {
  title: 'Cookie Policy',
  text: 'We use cookies to enhance your browsing experience and analyze site traffic.',
  privacy: 'Privacy Policy',
  cookies: 'Cookie Policy',
  decline: 'Decline',
  accept: 'Accept',
  close: 'Close and decline',
} as const

const LINK = 'py-1 font-semibold text-pitch underline underline-offset-4 hover:text-ink'

/** Asks for consent until there is an answer, and again on request. */
export function CookieBanner() {
  const request = useConsentRequest()
  const isTime = useAfter(COOKIE_BANNER_DELAY_MS)
  const ref = useRef<HTMLElement>(null)
  useEffect(resumeConsent, [])

  useEffect(() => {
    if (request !== 'again' || !isTime) return
    // A visitor who reopens the choice gets the focus there, and back once it is made.
    const giveFocusBack = rememberFocus()
    ref.current?.focus()
    return giveFocusBack
  }, [request, isTime])

  if (!request || !isTime) return null

  const decline = () => chooseConsent('declined')
  return (
    <section
      ref={ref}
      tabIndex={-1}
      aria-labelledby="cookie-banner-heading"
      className="fixed inset-x-3 bottom-3 z-45 animate-rise-in rounded-lg bg-chalk px-4 py-3 shadow-float md:inset-x-auto md:bottom-6 md:left-6 md:w-96 md:p-6 print:hidden"
    >
      <div className="flex items-start justify-between gap-4">
        <h2 id="cookie-banner-heading" className="text-subheading">
          {copy.title}
        </h2>
        <button
          type="button"
          aria-label={copy.close}
          onClick={decline}
          className="-mt-2 -mr-2 grid size-10 shrink-0 place-items-center rounded-md hover:bg-mist"
        >
          <X aria-hidden className="size-5" />
        </button>
      </div>
      <p className="text-label md:mt-1 md:text-small">{copy.text}</p>
      <p className="mt-1 flex flex-wrap gap-x-5 text-label md:mt-2 md:text-small">
        <Link to="/privacy" className={LINK}>
          {copy.privacy}
        </Link>
        <Link to="/cookies" className={LINK}>
          {copy.cookies}
        </Link>
      </p>
      <div className="mt-2 grid grid-cols-2 gap-3 md:mt-4">
        <Button variant="outline" size="small" onClick={decline}>
          {copy.decline}
        </Button>
        <Button size="small" onClick={() => chooseConsent('accepted')}>
          {copy.accept}
        </Button>
      </div>
    </section>
  )
}
