// What a text may hold. The same rules as the forms of the site have, since a form is only one of the ways in.

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

/** What looks as if it wanted to become a part of a database query. */
const QUERY_PARTS = [
  /\b(?:select|insert|update|delete|drop|create|alter|exec|union|script)\b/i,
  /--|\/\*|\*\//,
  /\b(?:or|and)\s+\d+\s*=\s*\d+/i,
]

/** Whether the text has control characters other than tabs and line ends. */
export function hasControlCharacters(text: string): boolean {
  return CONTROL.test(text)
}

/** Whether the text has tags, schemes, handlers or styles that could run in a page. */
export function hasActiveContent(text: string): boolean {
  return ACTIVE_CONTENT.some((pattern) => pattern.test(text))
}

/** Whether the text has what belongs into a query. */
export function hasQueryParts(text: string): boolean {
  return QUERY_PARTS.some((pattern) => pattern.test(text))
}
