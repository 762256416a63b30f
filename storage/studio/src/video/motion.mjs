/** How far `time` is between `from` and `to`, 0 to 1. */
export const progress = (time, from, to) => Math.min(1, Math.max(0, (time - from) / (to - from)))

/** Eases out: fast, then gentle. */
export const easeOut = (share) => 1 - (1 - share) ** 3

/** Eases in and out. */
export const easeInOut = (share) => (share < 0.5 ? 4 * share ** 3 : 1 - (-2 * share + 2) ** 3 / 2)

/** Runs past its end a little and comes back, as a card that is put down. */
export const spring = (share) => (share >= 1 ? 1 : 1 - Math.exp(-6.5 * share) * Math.cos(9 * share))

/** From `a` to `b`. */
export const between = (a, b, share) => a + (b - a) * share

/** Up and down once between `from` and `to`, 0 outside. */
export const pulse = (time, from, to) => Math.sin(progress(time, from, to) * Math.PI)

/** A wave that closes with the film: `cycles` whole turns in `length` seconds. */
export const wave = (time, length, cycles, phase = 0) =>
  Math.sin((time / length) * Math.PI * 2 * cycles + phase)
