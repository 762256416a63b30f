/** How a season of the example ends for the club. */
export type Season = 'promotion' | 'middle' | 'relegation'

/** What the club of the example receives each month, in pounds. */
export const MONTHLY_GUARANTEE = 25_000

/** The share of each month of a season, in pounds. */
export const SHARES: Record<Season, readonly number[]> = {
  promotion: [13, 15, 17, 16, 20, 22, 21, 26, 30, 35].map((value) => value * 1000),
  middle: [12, 12, 10, 12, 14, 12, 10, 12, 12, 14].map((value) => value * 1000),
  relegation: [11, 9, 7, 6, 5, 5, 4, 3, 3, 2].map((value) => value * 1000),
}

/** How many fans of the example have opted in at the end of each season. */
export const FANS: Record<Season, number> = {
  promotion: 61_480,
  middle: 50_210,
  relegation: 43_950,
}
