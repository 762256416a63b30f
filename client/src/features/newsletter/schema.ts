import * as z from 'zod/mini'

import { NEWSLETTER } from '@/lib/constants'
import { checked } from '@/lib/forms/validation/checked'
import { looksLikeEmail } from '@/lib/forms/validation/email'

import { inputErrors, type FormTexts } from './copy'

/** Characters that could begin a tag or end an attribute. */
const TAG_OR_QUOTE = /[<>"'`]/

/** Returns why the address is refused, or undefined. */
function checkEmail(value: string, { emailRequired }: FormTexts) {
  const address = value.trim()
  if (address === '') return emailRequired
  if (TAG_OR_QUOTE.test(address)) return inputErrors.characters
  const { min, max } = NEWSLETTER.email
  const fits = address.length >= min && address.length <= max
  return fits && looksLikeEmail(address) ? undefined : inputErrors.format
}

/** Returns the rules of a subscription, in the words of one of its forms. */
export function newsletterSchema(texts: FormTexts) {
  return z.object({
    email: checked((value) => checkEmail(value, texts)),
    consent: z.boolean().check(z.refine((given) => given, texts.consentRequired)),
  })
}
