const NUMBER = new Intl.NumberFormat('en-GB')

const POUNDS = new Intl.NumberFormat('en-GB', {
  style: 'currency',
  currency: 'GBP',
  maximumFractionDigits: 0,
})

/** Returns the number with commas between thousands. */
export function formatNumber(value: number) {
  return NUMBER.format(value)
}

/** Returns the sum in pounds, without pence. */
export function formatPounds(value: number) {
  return POUNDS.format(value)
}
