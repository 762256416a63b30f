/** The film in seconds. It ends where it begins, so that it can run in a loop. */
export const LENGTH = 15
export const RATE = 30

/** When each card is alone on the screen; between two of them the thumb swipes. */
export const cards = [
  { clip: 'goal', from: 0, to: 2.95 },
  { clip: 'training', from: 3.45, to: 7.2 },
  { clip: 'tifo', from: 7.7, to: 9.9 },
  { clip: 'tunnel', from: 10.4, to: 14.45 },
]

/** Single moments, in seconds from the beginning. */
export const cues = {
  strike: 0.45,
  net: 1.05,
  like: 2.05,
  poll: 3.6,
  vote: 4.6,
  bars: 4.75,
  award: 5.5,
  landed: 6.35,
  tifo: 7.6,
  sheet: 11.1,
  tier: 11.6,
  redeem: 12.85,
  redeemed: 13.05,
  close: 13.85,
}

/** The fan's points before the poll, and what the vote earns and the tea costs. */
export const points = { start: 1240, award: 25 }
/** The moment whose frame stands in for the film before it plays. */
export const POSTER = 1.75
