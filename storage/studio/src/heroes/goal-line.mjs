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
import { seeded } from '../core/random.mjs'
import { circle, clipped, document, group, line, polygon, rect, ring, times } from '../core/svg.mjs'
import { football } from './shapes.mjs'

const CELL = 92

/** The net as a table: each mesh holds one kind of record, some of them lit. */
function records() {
  const random = seeded(8)
  const marks = [
    (colour) =>
      circle(0, -12, 11, colour) + `<path d="M-21,24 C-21,0 21,0 21,24 Z" fill="${colour}"/>`,
    (colour) =>
      rect(-22, 6, 10, 18, colour) + rect(-5, -8, 10, 32, colour) + rect(12, -22, 10, 46, colour),
    (colour) => ring(0, 0, 19, colour, 8),
    (colour) =>
      rect(-22, -16, 44, 9, colour, 4) +
      rect(-22, 0, 30, 9, colour, 4) +
      rect(-22, 16, 38, 9, colour, 4),
    (colour) => line('M-18,2 L-5,15 L20,-14', colour, 9),
    (colour) =>
      circle(-13, -13, 7, colour) +
      circle(13, -13, 7, colour) +
      circle(-13, 13, 7, colour) +
      circle(13, 13, 7, colour),
  ]
  return (
    times(9 * 10, (index) => {
      const column = index % 9
      const row = Math.floor(index / 9)
      const x = 806 + column * CELL
      const y = -14 + row * CELL
      const lit = random.chance(0.24)
      const ground = lit
        ? random.pick([floodlight, flare, chalk, pitchSoft])
        : (column + row) % 2
          ? pitchDeep
          : mix(pitchDeep, ink, 0.28)
      const figure = lit ? ink : mix(pitchDeep, pitchSoft, 0.34)
      return (
        rect(x, y, CELL, CELL, ground) +
        (lit || random.chance(0.4)
          ? group(`translate(${x + CELL / 2} ${y + CELL / 2})`, random.pick(marks)(figure))
          : '')
      )
    }) +
    times(10, (index) => line(`M${806 + index * CELL},-20 V920`, mix(pitchDeep, chalk, 0.5), 3)) +
    times(11, (index) => line(`M806,${-14 + index * CELL} H1620`, mix(pitchDeep, chalk, 0.5), 3))
  )
}

/** First-party data: the ball is over the line, and everything behind the line is the club's own. */
export function goalLine() {
  const stripes = times(8, (index) =>
    polygon(
      [
        [index * 220 - 300, 900],
        [index * 220 - 190, 900],
        [index * 220 + 60, 0],
        [index * 220 - 50, 0],
      ],
      mix(pitch, chalk, 0.07),
    ),
  )
  const field =
    rect(0, 0, 800, 900, pitch) +
    clipped(
      'field',
      'M0,0 H742 V900 H0 Z',
      stripes +
        ring(742, 450, 330, mix(pitch, chalk, 0.55), 10) +
        ring(742, 450, 610, mix(pitch, chalk, 0.28), 10),
    )
  const trail = times(6, (index) =>
    rect(
      90 + index * 104,
      440 + index * 7 - 22,
      74 - index * 3,
      14 + index * 7,
      mix(pitch, floodlight, 0.2 + index * 0.12),
      4,
    ),
  )
  const edge = rect(730, 0, 58, 900, paper) + rect(788, 0, 20, 900, mix(pitchDeep, ink, 0.6))
  const shadow = clipped(
    'shade',
    'M730,0 H1600 V900 H730 Z',
    circle(1092, 486, 212, ink, 'opacity=".42"'),
  )
  return document(
    1600,
    900,
    field +
      trail +
      records() +
      edge +
      shadow +
      group('translate(1056 450) rotate(14)', football('goal', 212)),
  )
}
