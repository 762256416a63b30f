import * as z from 'zod/mini'

import { APPLICATION } from '@/lib/constants'
import { checked } from '@/lib/forms/validation/checked'
import { looksLikeEmail } from '@/lib/forms/validation/email'
import { hasActiveContent, hasControlCharacters, TEXT_ERRORS } from '@shared/text'

import { isName } from './fields'

export const APPLICATION_ERRORS = {
  nameTooShort: 'Name must be at least 2 characters',
  nameTooLong: 'Name must be under 100 characters',
  nameCharacters: 'Name can only contain letters, spaces, hyphens, and apostrophes',
  email: 'Please enter a valid email address',
  emailTooLong: 'Email must be under 254 characters',
  messageTooLong: 'Message must be under 2000 characters',
} as const

function checkContent(text: string) {
  if (hasControlCharacters(text)) return TEXT_ERRORS.control
  return hasActiveContent(text) ? TEXT_ERRORS.activeContent : undefined
}

function checkName(value: string) {
  const name = value.trim()
  if (name.length < APPLICATION.name.min) return APPLICATION_ERRORS.nameTooShort
  if (name.length > APPLICATION.name.max) return APPLICATION_ERRORS.nameTooLong
  return isName(name) ? checkContent(name) : APPLICATION_ERRORS.nameCharacters
}

function checkEmail(value: string) {
  const email = value.trim()
  if (email.length > APPLICATION.email.max) return APPLICATION_ERRORS.emailTooLong
  return looksLikeEmail(email) ? checkContent(email) : APPLICATION_ERRORS.email
}

function checkMessage(value: string) {
  if (value.trim().length > APPLICATION.message.max) return APPLICATION_ERRORS.messageTooLong
  return checkContent(value)
}

export const applicationSchema = z.object({
  name: checked(checkName),
  email: checked(checkEmail),
  message: checked(checkMessage),
  jobRoleId: z.string(),
})
