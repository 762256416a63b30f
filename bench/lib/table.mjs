/** Prints the title of a group of figures. */
export function heading(text) {
  process.stdout.write(`\n${text}\n`)
}

/** Prints a figure: what it is, and its value with its unit. */
export function row(name, value) {
  process.stdout.write(`  ${name.padEnd(48)} ${value}\n`)
}

/** The middle value, which one disturbed round does not move. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
