/**
 * A seeded generator (mulberry32): the same seed draws the same picture on every machine, so a rebuilt file
 * differs from the committed one only when its scene was changed.
 */
export function seeded(seed) {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296
  }
  return {
    /** A number from `low` (included) to `high` (excluded). */
    between: (low, high) => low + next() * (high - low),
    /** One of `items`. */
    pick: (items) => items[Math.floor(next() * items.length)],
    /** True in `share` of the calls. */
    chance: (share) => next() < share,
  }
}
