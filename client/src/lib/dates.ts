const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

/**
 * Returns the day of a date in the visitor's time zone, such as "26 November 2026". `Intl.DateTimeFormat` does the same, but
 * loads its data first, which keeps a slow phone from responding for a tenth of a second.
 */
export function formatDay(date: Date) {
  return `${String(date.getDate())} ${MONTHS[date.getMonth()] ?? ''} ${String(date.getFullYear())}`
}
