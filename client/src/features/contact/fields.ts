/** What the form holds. */
export interface ContactValues {
  name: string
  company: string
  email: string
  message: string
}

export type ContactField = keyof ContactValues

/** The fields' names in messages. */
export const LABELS = {
  name: 'Name',
  company: 'Company',
  email: 'Email',
  message: 'Message',
} as const

/** Said below a required field that is empty. */
export const REQUIRED = 'Please fill in this field.'

export const EMPTY: ContactValues = { name: '', company: '', email: '', message: '' }
