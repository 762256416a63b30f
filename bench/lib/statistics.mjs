/** The middle value, which one disturbed round does not move. */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/** How much y grows with one x, by least squares over `[x, y]` pairs. */
export function slope(points) {
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length
  const middleX = mean(points.map(([x]) => x))
  const middleY = mean(points.map(([, y]) => y))
  const covariance = points.reduce((sum, [x, y]) => sum + (x - middleX) * (y - middleY), 0)
  return covariance / points.reduce((sum, [x]) => sum + (x - middleX) ** 2, 0)
}
