import { useSyncExternalStore } from 'react'

import { analytics } from './analytics'
import { readLocal, readSession, writeLocal, writeSession } from '@/lib/browser/browser-storage'

type Consent = 'accepted' | 'declined'

const STORAGE_KEY = 'cookieConsent'

const listeners = new Set<() => void>()
/** Whether the visitor has reopened the choice. */
let isReopened = false

function announce() {
  for (const listener of listeners) listener()
}

/** Returns what the visitor has chosen; null before they have. */
function storedConsent(): Consent | null {
  const stored = readLocal(STORAGE_KEY) ?? readSession(STORAGE_KEY)
  return stored === 'accepted' || stored === 'declined' ? stored : null
}

/** Keeps the choice: in local storage, else for as long as the tab is open. */
export function chooseConsent(consent: Consent) {
  if (!writeLocal(STORAGE_KEY, consent)) writeSession(STORAGE_KEY, consent)
  isReopened = false
  if (consent === 'accepted') analytics.start()
  else analytics.stop()
  announce()
}

/** Starts the services that the visitor agreed to in an earlier visit. */
export function resumeConsent() {
  if (storedConsent() === 'accepted') analytics.start()
}

/** Shows the choice again, for the link in the footer. */
export function reopenConsent() {
  isReopened = true
  announce()
}

/** Reports whether the choice is to be shown: for the first time, or because the visitor has reopened it. */
export function useConsentRequest() {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    () => {
      if (isReopened) return 'again'
      return storedConsent() === null ? 'first' : null
    },
  )
}
