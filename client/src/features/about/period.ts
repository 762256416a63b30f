/**
 * When a period begins: "2026" in January, "2026 Q3" as what is left of it without its Q, read as a date, says:
 * year and month. Other texts are read as the browser reads dates; undefined where it reads none.
 */
export function periodDate(period: string): Date | undefined {
  const rest = period.replace('Q', '').trim()
  const [, year, month] = /^(\d{4})(?:\s+(\d{1,2}))?$/.exec(rest) ?? []
  if (year) return new Date(Number(year), Number(month ?? 1) - 1, 1)
  const time = Date.parse(rest)
  return Number.isNaN(time) ? undefined : new Date(time)
}

/** Whether a period is still to come; false where it cannot be told. */
export function isAhead(period: string, now: Date) {
  const date = periodDate(period)
  return date !== undefined && date >= now
}
