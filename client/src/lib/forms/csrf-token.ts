import { readSession, writeSession } from '@/lib/browser/browser-storage'
import { CSRF_TOKEN_BYTES } from '@/lib/constants'

const STORAGE_KEY = 'csrf_token'
const SHAPE = new RegExp(`^[0-9a-f]{${CSRF_TOKEN_BYTES * 2}}$`)

/** Is used if the browser refuses session storage. */
let kept: string | null = null

function generate() {
  const bytes = crypto.getRandomValues(new Uint8Array(CSRF_TOKEN_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Replaces the token: each accepted submission gets one of its own. */
export function regenerateCsrfToken() {
  kept = generate()
  writeSession(STORAGE_KEY, kept)
  return kept
}

/** Returns the anti-forgery token of this tab, 64 hexadecimal digits; made on first use and kept until regenerated. */
export function csrfToken() {
  const token = readSession(STORAGE_KEY) ?? kept
  return token && SHAPE.test(token) ? token : regenerateCsrfToken()
}
