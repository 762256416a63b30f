/** What the form holds. */
export interface ApplicationValues {
  name: string
  email: string
  message: string
  jobRoleId: string
}

export const EMPTY: ApplicationValues = { name: '', email: '', message: '', jobRoleId: '' }

const NAME = /^[\p{L}\p{M} '’-]+$/u

/** Whether the name has letters of any script, spaces, hyphens and apostrophes alone. */
export function isName(text: string) {
  return NAME.test(text)
}
