/**
 * Returns when a period begins. "2026" begins in January; "2026 Q3" is parsed without its Q as a date of year and month.
 * Other texts are parsed as the browser parses dates; undefined if it cannot.
 */
function periodDate(period: string): Date | undefined {
  const rest = period.replace('Q', '').trim()
  const [, year, month] = /^(\d{4})(?:\s+(\d{1,2}))?$/.exec(rest) ?? []
  if (year) return new Date(Number(year), Number(month ?? 1) - 1, 1)
  const time = Date.parse(rest)
  return Number.isNaN(time) ? undefined : new Date(time)
}

/** Reports whether a period is in the future; false if that is unknown. */
export function isAhead(period: string, now: Date) {
  const date = periodDate(period)
  return date !== undefined && date >= now
}
