/** Returns the first letters of a name's first and last word. */
export function initials(name: string) {
  const words = name.trim().split(/\s+/)
  const first = words[0] ?? ''
  const last = words.length > 1 ? (words.at(-1) ?? '') : ''
  return `${first.charAt(0)}${last.charAt(0)}`.toUpperCase()
}
