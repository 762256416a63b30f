import { readLocal, removeLocal, writeLocal } from '@/lib/browser/browser-storage'

const STORAGE_KEY = 'session_fingerprint'

/** Returns a drawing whose pixels depend on the machine's fonts and graphics. */
function canvasMark() {
  const canvas = document.createElement('canvas')
  canvas.width = 160
  canvas.height = 32
  const context = canvas.getContext('2d')
  if (!context) return 'no-canvas'
  context.font = '16px sans-serif'
  context.fillStyle = '#0b6b4b'
  context.fillRect(4, 4, 60, 18)
  context.fillStyle = '#f2542d'
  context.fillText('Terrace ⚽ 0123', 8, 20)
  return canvas.toDataURL()
}

/** Returns a hash that identifies this browser, of screen, time zone, language, platform and drawing, in hexadecimal. */
async function fingerprint() {
  const parts = [
    `${screen.width}x${screen.height}x${screen.colorDepth}`,
    Intl.DateTimeFormat().resolvedOptions().timeZone,
    navigator.language,
    // Deprecated, and the only one of its kind that all browsers have.

    navigator.platform,
    canvasMark(),
  ]
  const bytes = new TextEncoder().encode(parts.join('\n'))
  if (!('subtle' in crypto)) return Array.from(bytes, (byte) => byte.toString(16)).join('')
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * Reports whether the session is used in the browser in which it began. The first fingerprint of a session is stored, and
 * replaces that of an earlier session.
 */
export async function isSameBrowser(sessionId: string) {
  const [keptSession, keptPrint] = (readLocal(STORAGE_KEY) ?? '').split(' ')
  const current = await fingerprint()
  if (keptSession === sessionId) return keptPrint === current
  writeLocal(STORAGE_KEY, `${sessionId} ${current}`)
  return true
}

/** Forgets the browser once the session is over. */
export function forgetFingerprint() {
  removeLocal(STORAGE_KEY)
}
