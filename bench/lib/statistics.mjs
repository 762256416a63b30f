/** Returns the median, which one disturbed round does not move. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * Returns how much y grows with one x, by least squares over `[x, y]` pairs, and the standard error of that: both 0
 * for fewer than three pairs, which cannot say.
 * @param {[number, number][]} points
 */
export function slope(points) {
  if (points.length < 3) return { growth: 0, error: 0 }
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length
  const sum = (each) => points.reduce((total, point) => total + each(point), 0)
  const middleX = mean(points.map(([x]) => x))
  const middleY = mean(points.map(([, y]) => y))
  const spread = sum(([x]) => (x - middleX) ** 2)
  const growth = sum(([x, y]) => (x - middleX) * (y - middleY)) / spread
  const left = sum(([x, y]) => (y - middleY - growth * (x - middleX)) ** 2)
  return { growth, error: Math.sqrt(left / (points.length - 2) / spread) }
}
