/** What a visitor assumes about the club's app. */
export interface Assumptions {
  /** Fans who use the app. */
  fans: number
  /** What the app earns with each of them, in pounds a year. */
  revenue: number
  /** What the club is guaranteed, in pounds a year. */
  guarantee: number
  /** The club's part of the revenue, in per cent. */
  share: number
}

/**
 * Returns what the club receives for its share, in pounds a year, if `part` of the assumed revenue comes in. It is a
 * part of all revenue, without a cap, on top of the guarantee.
 */
export function shareOf({ fans, revenue, share }: Assumptions, part = 1) {
  return Math.round((fans * revenue * part * share) / 100)
}

/** Returns guarantee and share together, in pounds a year. */
export function incomeOf(assumptions: Assumptions, part = 1) {
  return assumptions.guarantee + shareOf(assumptions, part)
}
