/** What the form holds. */
export interface ApplicationValues {
  name: string
  email: string
  message: string
  jobRoleId: string
}

export const EMPTY: ApplicationValues = { name: '', email: '', message: '', jobRoleId: '' }

const NAME = /^[\p{L}\p{M} '’-]+$/u

/** Reports whether the name has only letters of any script, spaces, hyphens and apostrophes. */
export function isName(text: string) {
  return NAME.test(text)
}
