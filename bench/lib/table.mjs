import { median } from './statistics.mjs'

/** Prints the title of a group of figures. */
export function heading(/** @type {string} */ text) {
  process.stdout.write(`\n${text}\n`)
}

/**
 * Prints a figure: what it is, and its value with its unit.
 * @param {string} name
 * @param {string} value
 */
export function row(name, value) {
  process.stdout.write(`  ${name.padEnd(58)} ${value}\n`)
}

/**
 * Prints a table: the first column to the left, all others to the right.
 * @param {string[]} columns
 * @param {(string | number)[][]} rows
 */
export function table(columns, rows) {
  const cells = [columns, ...rows].map((cells) => cells.map(String))
  const widths = columns.map((_, index) =>
    Math.max(...cells.map((cells) => cells[index]?.length ?? 0)),
  )
  for (const [number, line] of cells.entries()) {
    const padded = line.map((cell, index) => {
      const width = widths[index] ?? 0
      return index === 0 ? cell.padEnd(width) : cell.padStart(width)
    })
    process.stdout.write(`  ${padded.join('  ').trimEnd()}\n`)
    if (number === 0)
      process.stdout.write(`  ${widths.map((width) => '─'.repeat(width)).join('  ')}\n`)
  }
}

/** Returns the medians of turns of `[ours, theirs]` and of their ratios, as cells of a table. */
export function compared(/** @type {[number, number][]} */ turns) {
  const ours = median(turns.map(([first]) => first))
  const theirs = median(turns.map(([, second]) => second))
  const ratio = median(turns.map(([first, second]) => first / second))
  return [figure(ours), figure(theirs), ratio.toFixed(2)]
}

/** Formats a number for people: three significant digits or none after the point. */
export function figure(/** @type {number} */ value) {
  if (!Number.isFinite(value)) return '–'
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}

/** Formats a number of bytes for people. */
export function mebibytes(/** @type {number} */ bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
