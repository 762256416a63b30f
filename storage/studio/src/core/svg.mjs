/** Repeats `draw(index)` `count` times and joins what it returns. */
export const times = (count, draw) =>
  Array.from({ length: count }, (_, index) => draw(index)).join('')

/** A complete SVG document with a view box of `width` by `height` user units. */
export const document = (width, height, body) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${body}</svg>`

/** `number` with two decimals at most, for short path data. */
export const round = (number) => Math.round(number * 100) / 100

/** A `points` attribute from pairs of numbers. */
export const points = (pairs) => pairs.map(([x, y]) => `${round(x)},${round(y)}`).join(' ')

/** A filled polygon. */
export const polygon = (pairs, fill, extra = '') =>
  `<polygon points="${points(pairs)}" fill="${fill}" ${extra}/>`

/** A filled circle. */
export const circle = (x, y, radius, fill, extra = '') =>
  `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="${fill}" ${extra}/>`

/** A stroked circle without a fill. */
export const ring = (x, y, radius, stroke, width, extra = '') =>
  `<circle cx="${round(x)}" cy="${round(y)}" r="${round(radius)}" fill="none" stroke="${stroke}" stroke-width="${width}" ${extra}/>`

/** A filled rectangle, `radius` rounds its corners. */
export const rect = (x, y, width, height, fill, radius = 0, extra = '') =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" fill="${fill}" ${extra}/>`

/** A filled path. */
export const shape = (data, fill, extra = '') => `<path d="${data}" fill="${fill}" ${extra}/>`

/** A stroked path with round caps and joins. */
export const line = (data, stroke, width, extra = '') =>
  `<path d="${data}" fill="none" stroke="${stroke}" stroke-width="${width}" stroke-linecap="round" stroke-linejoin="round" ${extra}/>`

/** A group with a transform. */
export const group = (transform, body) => `<g transform="${transform}">${body}</g>`

/** `body` cut to the outline `data`; `id` must be unique in the document. */
export const clipped = (id, data, body) =>
  `<clipPath id="${id}"><path d="${data}"/></clipPath><g clip-path="url(#${id})">${body}</g>`
