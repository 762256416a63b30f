/** Returns the text; if it is longer than `length` characters, it is cut there and an ellipsis is added. */
export function truncate(text: string, length: number) {
  return text.length <= length ? text : `${text.slice(0, length).trimEnd()}…`
}
