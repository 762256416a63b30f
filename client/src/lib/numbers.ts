/** The places of commas in a whole number. */
const THOUSANDS = /\B(?=(?:\d{3})+$)/g

/**
 * Returns the nearest whole number with commas between thousands. `Intl.NumberFormat` does the same, but loads its data
 * first, which keeps a slow phone from responding for a tenth of a second while the page starts.
 */
export function formatNumber(value: number) {
  return Math.round(value).toFixed().replace(THOUSANDS, ',')
}

/** Returns the sum in pounds, without pence. */
export function formatPounds(value: number) {
  return `${value < 0 ? '-' : ''}£${formatNumber(Math.abs(value))}`
}
