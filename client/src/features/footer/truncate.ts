/** The text, cut to at most `length` characters with an ellipsis after them where it is longer. */
export function truncate(text: string, length: number) {
  return text.length <= length ? text : `${text.slice(0, length).trimEnd()}…`
}
