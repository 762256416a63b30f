import { useSyncExternalStore } from 'react'

import { analytics } from './analytics'
import { readLocal, readSession, writeLocal, writeSession } from '@/lib/browser/browser-storage'

type Consent = 'accepted' | 'declined'

const STORAGE_KEY = 'cookieConsent'
/** When the choice was made, in milliseconds since 1970. */
const TIME_KEY = 'cookieConsentTime'

/** For how long a choice is kept, as the cookie policy says. */
const YEAR_MS = 365 * 24 * 60 * 60 * 1000

const listeners = new Set<() => void>()
/** Whether the visitor has reopened the choice. */
let isReopened = false

function announce() {
  for (const listener of listeners) listener()
}

/** Returns what the visitor has chosen; null before they have, and when that was more than a year ago. */
function storedConsent(): Consent | null {
  const stored = readLocal(STORAGE_KEY) ?? readSession(STORAGE_KEY)
  const time = Number(readLocal(TIME_KEY) ?? readSession(TIME_KEY) ?? Date.now())
  if (Date.now() - time > YEAR_MS) return null
  return stored === 'accepted' || stored === 'declined' ? stored : null
}

function store(key: string, value: string) {
  if (!writeLocal(key, value)) writeSession(key, value)
}

/** Keeps the choice for a year: in local storage, else for as long as the tab is open. */
export function chooseConsent(consent: Consent) {
  store(STORAGE_KEY, consent)
  store(TIME_KEY, String(Date.now()))
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
