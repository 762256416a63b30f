import * as z from 'zod/mini'

import { CONTACT } from '@/lib/constants'
import { checked } from '@/lib/forms/validation/checked'
import { checkBusinessEmail } from '@/lib/forms/validation/email'
import { checkText } from '@shared/text'

import { LABELS, REQUIRED } from './fields'

function required(rule: (value: string) => string | undefined) {
  return checked((value) => (value.trim() === '' ? REQUIRED : rule(value)))
}

export const contactSchema = z.object({
  name: required((value) => checkText(value, { label: LABELS.name, ...CONTACT.name })),
  company: required((value) => checkText(value, { label: LABELS.company, ...CONTACT.company })),
  email: required(checkBusinessEmail),
  message: checked((value) =>
    checkText(value, { label: LABELS.message, ...CONTACT.message, allowsSpecialCharacters: true }),
  ),
})
