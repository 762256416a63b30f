/** Returns the median, which one disturbed round does not move; NaN for no values. */
export function median(/** @type {number[]} */ values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2
}

/** Returns the mean; NaN for no values. */
function mean(/** @type {number[]} */ values) {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/**
 * Returns how much y grows with one x, by least squares over `[x, y]` pairs, and the standard error of that: both 0
 * for fewer than three pairs, which cannot say.
 * @param {[number, number][]} points
 */
export function slope(points) {
  if (points.length < 3) return { growth: 0, error: 0 }
  const middleX = mean(points.map(([x]) => x))
  const middleY = mean(points.map(([, y]) => y))
  const variance = mean(points.map(([x]) => (x - middleX) ** 2))
  const growth = mean(points.map(([x, y]) => (x - middleX) * (y - middleY))) / variance
  const residual = mean(points.map(([x, y]) => (y - middleY - growth * (x - middleX)) ** 2))
  return { growth, error: Math.sqrt(residual / (points.length - 2) / variance) }
}

/**
 * Returns the value below which this part of the values is; NaN for no values.
 * @param {number[]} values
 * @param {number} part between 0 and 1
 */
export function percentile(values, part) {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN
}
