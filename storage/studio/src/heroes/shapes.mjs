import { chalk, ink } from '../core/palette.mjs'
import { circle, group, line, polygon, rect, shape, times } from '../core/svg.mjs'

/** A football of `radius` at the origin: a pentagon in the middle, five seams, five cut pentagons at the edge. */
export function football(id, radius, light = chalk, dark = ink) {
  const at = (angle, distance) => [
    Math.sin((angle * Math.PI) / 180) * distance,
    -Math.cos((angle * Math.PI) / 180) * distance,
  ]
  const pentagon = (x, y, size, turn) =>
    polygon(
      Array.from({ length: 5 }, (_, index) => {
        const [dx, dy] = at(index * 72 + turn, size)
        return [x + dx, y + dy]
      }),
      dark,
    )
  const outer = times(5, (index) =>
    pentagon(...at(index * 72, radius * 0.92), radius * 0.36, index * 72 + 180),
  )
  const seams = times(5, (index) => {
    const [x1, y1] = at(index * 72, radius * 0.34)
    const [x2, y2] = at(index * 72, radius * 0.6)
    const [x3, y3] = at(index * 72 + 36, radius * 0.68)
    const [x4, y4] = at(index * 72 - 36, radius * 0.68)
    const [x5, y5] = at(index * 72 + 36, radius)
    return line(
      `M${x1},${y1} L${x2},${y2} L${x3},${y3} M${x2},${y2} L${x4},${y4} M${x3},${y3} L${x5},${y5}`,
      dark,
      radius * 0.045,
    )
  })
  return `<clipPath id="ball-${id}"><circle r="${radius}"/></clipPath>${circle(0, 0, radius, light)}<g clip-path="url(#ball-${id})">${pentagon(0, 0, radius * 0.36, 0)}${outer}${seams}
    <path d="M${radius * 0.35},${-radius} C${radius * 0.9},${-radius * 0.2} ${radius * 0.7},${radius * 0.7} ${-radius * 0.4},${radius} L${radius},${radius} V${-radius} Z" fill="${ink}" opacity=".16"/></g>`
}

/** A ticket with a torn-off stub, `width` by `height` from the origin; `stub` is where its perforation runs. */
export function ticket(width, height, fill, hole, stub = width * 0.72) {
  const notch = height * 0.09
  const data = `M14,0 H${stub - notch} a${notch},${notch} 0 0 0 ${notch * 2},0 H${width - 14} q14,0 14,14 V${height - 14} q0,14 -14,14 H${stub + notch} a${notch},${notch} 0 0 0 ${-notch * 2},0 H14 q-14,0 -14,-14 V14 q0,-14 14,-14 Z`
  return (
    shape(data, fill) +
    line(`M${stub},${notch + 12} V${height - notch - 8}`, hole, 4, 'stroke-dasharray="1 12"')
  )
}

/** A coin: the club's step on a disc. */
export const coin = (x, y, radius, fill, edge) =>
  group(
    `translate(${x} ${y})`,
    circle(0, radius * 0.1, radius, edge) +
      circle(0, 0, radius, fill) +
      circle(0, 0, radius * 0.78, 'none', `stroke="${edge}" stroke-width="${radius * 0.06}"`) +
      group(
        `scale(${radius / 50})`,
        rect(-26, 10, 22, 10, edge, 2) +
          rect(-12, -4, 22, 10, edge, 2) +
          rect(2, -18, 22, 10, edge, 2),
      ),
  )

/** A telephone with `screen` in it, `width` by `height` from the origin. */
export const phone = (id, width, height, body, screen) =>
  `<clipPath id="phone-${id}"><rect x="10" y="10" width="${width - 20}" height="${height - 20}" rx="${width * 0.11}"/></clipPath>` +
  rect(0, 0, width, height, body, width * 0.15) +
  `<g clip-path="url(#phone-${id})">${screen}</g>` +
  rect(width / 2 - width * 0.14, 18, width * 0.28, width * 0.06, body, width * 0.03)
