import { hasActiveContent, hasControlCharacters } from '@shared/text'

/** The longest address that mail servers accept. Source: RFC 5321, section 4.5.3.1.3, as corrected. */
const MAX_LENGTH = 254

const FORMAT = /^\S+@\S+\.\S+$/

/** Mailboxes that are thrown away after a few minutes. */
const DISPOSABLE_DOMAINS = ['mailinator.com', 'guerrillamail.com', '10minutemail.com']

const EMAIL_ERRORS = {
  tooLong: 'Email address is too long.',
  format: 'Please enter a valid email address.',
  shape: 'Invalid email format detected.',
  disposable: 'Please use a valid business email address.',
} as const

/** Returns whether the text has the outline of an address: something, an @, a domain with a dot. */
export function looksLikeEmail(text: string) {
  return FORMAT.test(text)
}

/** Returns whether an address that has the outline of one is malformed all the same. */
function isMalformed(address: string) {
  return (
    address.split('@').length !== 2 ||
    /[<>]/.test(address) ||
    hasActiveContent(address) ||
    hasControlCharacters(address) ||
    address.includes('..') ||
    address.startsWith('.') ||
    address.endsWith('.')
  )
}

/** Returns why the trimmed address is refused in a business form, or undefined. */
export function checkBusinessEmail(value: string): string | undefined {
  const address = value.trim().toLowerCase()
  if (address.length > MAX_LENGTH) return EMAIL_ERRORS.tooLong
  if (!looksLikeEmail(address)) return EMAIL_ERRORS.format
  if (isMalformed(address)) return EMAIL_ERRORS.shape
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return DISPOSABLE_DOMAINS.includes(domain) ? EMAIL_ERRORS.disposable : undefined
}
