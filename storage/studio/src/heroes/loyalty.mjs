import {
  chalk,
  flare,
  floodlight,
  ink,
  mix,
  paper,
  pitch,
  pitchDeep,
  pitchSoft,
} from '../core/palette.mjs'
import { outlined } from '../core/fonts.mjs'
import { circle, document, group, line, polygon, rect, shape, times } from '../core/svg.mjs'
import { coin } from './shapes.mjs'

function numeral(x, y, value, fill) {
  const { data, width } = outlined(`${value}`, { size: 64, tracking: -15 })
  return group(`translate(${x - width / 2} ${y})`, shape(data, fill))
}

const levels = [
  { value: 25, top: 704, ground: paper, figure: ink },
  { value: 50, top: 580, ground: pitchSoft, figure: pitchDeep },
  { value: 100, top: 456, ground: pitch, figure: paper },
  { value: 250, top: 332, ground: pitchDeep, figure: pitchSoft },
  { value: 500, top: 208, ground: ink, figure: floodlight },
]
const WIDE = 232
const START = 440

/** A step of the stand that is a ticket standing upright: notches, a perforation, its worth on the stub. */
function step({ value, top, ground, figure }, index) {
  const x = START + index * WIDE
  const stub = top + 116
  const data = `M${x},${top} H${x + WIDE} V${stub - 18} a18,18 0 0 0 0,36 V900 H${x} V${stub + 18} a18,18 0 0 0 0,-36 Z`
  const seats = times(24, (seat) => {
    const row = Math.floor(seat / 3)
    const y = stub + 46 + row * 74
    return y > 900
      ? ''
      : rect(x + 34 + (seat % 3) * 58, y, 44, 34, mix(ground, figure, 0.2), 9) +
          rect(x + 34 + (seat % 3) * 58, y + 38, 44, 9, mix(ground, figure, 0.36), 4)
  })
  return (
    shape(data, ground) +
    line(
      `M${x + 34},${stub} H${x + WIDE - 30}`,
      mix(ground, figure, 0.5),
      5,
      'stroke-dasharray="1 14"',
    ) +
    seats +
    numeral(x + WIDE / 2, top + 78, value, figure)
  )
}

/** Points that are worth climbing for: every step of the stand is a ticket to the next. */
export function loyalty() {
  const sun = [1484, 96]
  const rays = times(18, (index) =>
    group(
      `translate(${sun[0]} ${sun[1]}) rotate(${index * 20})`,
      polygon(
        [
          [-34, 0],
          [34, 0],
          [250, 1700],
          [-250, 1700],
        ],
        mix(flare, chalk, 0.1),
        index % 2 ? 'opacity="0"' : '',
      ),
    ),
  )
  const climb = levels
    .map(({ top }, index) => {
      const radius = 34 + index * 13
      const last = index === levels.length - 1
      return coin(
        START + index * WIDE + WIDE / 2,
        top - radius - 12,
        radius,
        last ? floodlight : paper,
        last ? pitchDeep : mix(flare, ink, 0.25),
      )
    })
    .join('')
  const arcs = levels
    .slice(0, -1)
    .map(({ top }, index) => {
      const [x, y] = [START + index * WIDE + WIDE / 2 + 20, top - 92 - index * 26]
      return line(`M${x},${y} q60,-120 ${WIDE - 86},-104`, ink, 5, 'stroke-dasharray="2 18"')
    })
    .join('')
  const ground =
    rect(0, 828, START, 72, ink) +
    times(
      7,
      (index) =>
        rect(26 + index * 60, 782, 44, 34, mix(flare, ink, 0.3), 9) +
        rect(26 + index * 60, 819, 44, 9, mix(flare, ink, 0.5), 4),
    )
  return document(
    1600,
    900,
    rect(0, 0, 1600, 900, flare) +
      rays +
      circle(sun[0], sun[1], 190, mix(flare, floodlight, 0.35)) +
      ground +
      levels.map(step).join('') +
      arcs +
      climb,
  )
}
