// What a text may hold, in the site's forms and in the functions that take what the forms send: a form is only one of
// the ways in.

/** Control characters other than tabs and line ends. */
// deno-lint-ignore no-control-regex
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/

/** What a browser could run if somebody pasted the text into a page. */
const ACTIVE_CONTENT = [
  /<\s*\/?\s*(?:script|iframe|object|embed|form|meta|link)\b/i,
  /\b(?:javascript|vbscript|data)\s*:/i,
  /\bon[a-z]+\s*=/i,
  /\bexpression\s*\(/i,
  /\burl\s*\(/i,
  /@import/i,
  /\bbinding\s*:/i,
]

/** Patterns of SQL injection. */
const QUERY_PARTS = [
  /\b(?:select|insert|update|delete|drop|create|alter|exec|union|script)\b/i,
  /--|\/\*|\*\//,
  /\b(?:or|and)\s+\d+\s*=\s*\d+/i,
]

/** Characters that names of people and companies do without. */
const SPECIAL = /[<>{}[\]\\/^$|?*+()]/

/** Returns whether the text has control characters other than tabs and line ends. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text)
}

/** Returns whether the text has tags, schemes, handlers or styles that could run in a page. */
export function hasActiveContent(text: string): boolean {
  return ACTIVE_CONTENT.some((pattern) => pattern.test(text))
}

/** What a text field takes. */
export interface TextRules {
  /** The field's name in messages. */
  label: string
  min?: number
  max: number
  allowsSpecialCharacters?: boolean
}

export const TEXT_ERRORS = {
  tooShort: (label: string, min: number) => `${label} must be at least ${min} characters long.`,
  tooLong: (label: string, max: number) =>
    `${label} is too long. Please keep it under ${max} characters.`,
  control: 'Invalid characters detected. Please remove any control characters.',
  activeContent:
    'Invalid content detected. Please remove any HTML, scripts, or special formatting.',
  queryParts: 'Invalid input detected. Please try again with different content.',
  special: (label: string) => `${label} contains invalid special characters.`,
} as const

/** Returns why the trimmed text is refused, or undefined. */
export function checkText(value: string, rules: TextRules): string | undefined {
  const text = value.trim()
  const { label, min = 0, max, allowsSpecialCharacters = false } = rules
  if (text.length < min) return TEXT_ERRORS.tooShort(label, min)
  if (text.length > max) return TEXT_ERRORS.tooLong(label, max)
  if (hasControlCharacters(text)) return TEXT_ERRORS.control
  if (hasActiveContent(text)) return TEXT_ERRORS.activeContent
  if (QUERY_PARTS.some((pattern) => pattern.test(text))) return TEXT_ERRORS.queryParts
  if (!allowsSpecialCharacters && SPECIAL.test(text)) return TEXT_ERRORS.special(label)
  return undefined
}
