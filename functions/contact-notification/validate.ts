// The rules of the contact and application forms, checked again: nothing that a client says about itself is believed.

import { isUuid, Refusal } from '../_shared/http.ts'
import {
  checkText,
  hasActiveContent,
  hasControlCharacters,
  type TextRules,
} from '../_shared/text.ts'

/** The kinds of records that visitors send. */
export type LeadType = 'contact_submission' | 'job_application'

/** A record that is in order, trimmed. */
export interface Lead {
  id: string
  name: string
  email: string
  message: string | null
  company?: string
  job_role_id?: string | null
  job_role_title?: string | null
  user_id?: string | null
}

/** What the form sent, in order. */
interface Submission {
  type: LeadType
  lead: Lead
}

/** Mailboxes that are thrown away after a few minutes. */
const DISPOSABLE_DOMAINS = ['mailinator.com', 'guerrillamail.com', '10minutemail.com']

function refuse(message: string): never {
  throw new Refusal(400, message)
}

function object(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    refuse(`${what} is missing.`)
  return value as Record<string, unknown>
}

function text(value: unknown, rules: TextRules): string {
  if (typeof value !== 'string') refuse(`${rules.label} is required.`)
  const refusal = checkText(value, rules)
  if (refusal) refuse(refusal)
  return value.trim()
}

function optional(value: unknown, rules: TextRules): string | null {
  if (value === null || value === undefined) return null
  return text(value, rules) || null
}

function email(value: unknown): string {
  if (typeof value !== 'string') refuse('Email is required.')
  const address = value.trim().toLowerCase()
  if (address.length > 254) refuse('Email address is too long.')
  if (!/^\S+@\S+\.\S+$/.test(address)) refuse('Please enter a valid email address.')
  const isMalformed =
    address.split('@').length !== 2 ||
    // With these it would be several addresses, or none that a mail can be answered to (RFC 5322, section 3.2.3).
    /[<>"'`(),:;[\]\\]/.test(address) ||
    hasActiveContent(address) ||
    hasControlCharacters(address) ||
    address.includes('..') ||
    address.startsWith('.') ||
    address.endsWith('.')
  if (isMalformed) refuse('Invalid email format detected.')
  const domain = address.slice(address.lastIndexOf('@') + 1)
  if (DISPOSABLE_DOMAINS.some((one) => domain === one || domain.endsWith(`.${one}`))) {
    refuse('Please use a valid business email address.')
  }
  return address
}

function uuid(value: unknown, label: string): string {
  if (!isUuid(value)) refuse(`${label} is not valid.`)
  return value.toLowerCase()
}

function applicantName(value: unknown): string {
  const name = text(value, { label: 'Name', min: 2, max: 100 })
  if (!/^[\p{L}\p{M}\s'’-]+$/u.test(name)) {
    refuse('Name can only contain letters, spaces, hyphens, and apostrophes')
  }
  return name
}

/** Checks the body of a request. Throws a refusal with the words that the form would use. */
export function validate(body: unknown): Submission {
  const { type, csrf_token: token, record } = object(body, 'The request')
  if (type !== 'contact_submission' && type !== 'job_application') refuse('The type is not known.')
  if (typeof token !== 'string' || !/^[0-9a-f]{64}$/i.test(token)) {
    throw new Refusal(403, 'The security token is not valid. Please reload the page and try again.')
  }
  const fields = object(record, 'The record')
  const id = uuid(fields.id, 'The id')
  const message = optional(fields.message, {
    label: 'Message',
    max: 2000,
    allowsSpecialCharacters: true,
  })
  if (type === 'contact_submission') {
    const name = text(fields.name, { label: 'Name', min: 2, max: 100 })
    const company = text(fields.company, { label: 'Company', min: 2, max: 200 })
    return { type, lead: { id, name, company, email: email(fields.email), message } }
  }
  return {
    type,
    lead: {
      id,
      name: applicantName(fields.name),
      email: email(fields.email),
      message,
      job_role_id: fields.job_role_id == null ? null : uuid(fields.job_role_id, 'The position'),
      job_role_title: optional(fields.job_role_title, {
        label: 'Position',
        max: 150,
        allowsSpecialCharacters: true,
      }),
      user_id: fields.user_id == null ? null : uuid(fields.user_id, 'The user'),
    },
  }
}
