import {
  chalk,
  flare,
  floodlight,
  ink,
  mix,
  mist,
  paper,
  pitch,
  pitchDeep,
  pitchSoft,
  stone,
} from '../core/palette.mjs'
import {
  circle,
  clipped,
  document,
  group,
  line,
  polygon,
  rect,
  ring,
  shape,
  times,
} from '../core/svg.mjs'
import { coin, ticket } from './shapes.mjs'

const FLOOR = 760
const START = 712
const WIDE = 222

/** A blank board of the perimeter, tipped over by `angle` around its right foot. */
const board = (x, width, height, angle, fill) =>
  group(
    `translate(${x} ${FLOOR}) rotate(${angle})`,
    rect(-width, -height, width, height, ink, 6) +
      rect(-width + 12, -height + 12, width - 24, height - 24, fill, 3) +
      clipped(
        `board-${x}`,
        `M${-width + 12},${-height + 12} h${width - 24} v${height - 24} h${24 - width} Z`,
        times(9, (index) =>
          polygon(
            [
              [-width - 260 + index * 92, 0],
              [-width - 226 + index * 92, 0],
              [-width + 40 + index * 92, -height],
              [-width + 6 + index * 92, -height],
            ],
            mix(fill, stone, 0.28),
          ),
        ),
      ),
  )

const card = () =>
  group(
    'translate(-77 112) rotate(-90) scale(.84) translate(150 92)',
    rect(-150, -92, 300, 184, ink, 24) +
      clipped(
        'bank',
        'M-150,-92 h300 v184 h-300 Z',
        ring(110, -70, 70, pitch, 20) + ring(110, -70, 120, pitchDeep, 20),
      ) +
      rect(-122, -34, 56, 42, floodlight, 9) +
      line('M-94,-34 V8 M-122,-13 H-66', ink, 3) +
      line('M-122,54 H-10', chalk, 9, 'stroke-dasharray="24 16"') +
      circle(98, 52, 22, flare) +
      circle(122, 52, 22, floodlight, 'opacity=".9"'),
  )

const shirt = () =>
  shape('M-46,-104 Q0,-66 46,-104 L124,-66 L96,4 L66,-8 V112 H-66 V-8 L-96,4 L-124,-66 Z', flare) +
  line('M-46,-104 Q0,-66 46,-104', chalk, 12) +
  line('M-104,-14 L-74,-26 M104,-14 L74,-26', chalk, 12) +
  shape('M20,-84 L66,-8 V112 H28 Z', ink, 'opacity=".12"')

const player = () =>
  rect(-74, -112, 148, 224, ink, 26) +
  rect(-62, -100, 124, 200, pitchSoft, 18) +
  circle(0, 0, 44, paper) +
  shape('M-13,-22 L23,0 L-13,22 Z', ink) +
  line('M-42,76 H42', paper, 8) +
  line('M-42,76 H2', flare, 8)

const coins = () =>
  times(
    5,
    (index) =>
      `<rect x="-74" y="${76 - index * 32}" width="148" height="30" rx="15" fill="${index % 2 ? paper : flare}" stroke="${ink}" stroke-width="6"/>`,
  ) + coin(0, -112, 58, paper, pitchDeep)

/** A step of the stand with one source of income on it. */
function step(index, ground, pattern, figure) {
  const x = START + index * WIDE
  const top = FLOOR - 96 - index * 120
  return (
    rect(x, top, WIDE, FLOOR - top, ground) +
    clipped(`step-${index}`, `M${x},${top} h${WIDE} V${FLOOR} h${-WIDE} Z`, pattern(x, top)) +
    rect(x, top, WIDE, 16, mix(ground, chalk, 0.3)) +
    group(`translate(${x + WIDE / 2} ${top - 112})`, figure)
  )
}

/** Income that does not hang on the boards: they fall like dominoes, and the stand behind them rises. */
export function ads() {
  const dots = (x, top) =>
    times(40, (index) =>
      circle(
        x + 30 + (index % 5) * 45,
        top + 52 + Math.floor(index / 5) * 45,
        8,
        mix(pitchSoft, pitch, 0.4),
      ),
    )
  const bars = (x) =>
    times(6, (index) => rect(x + index * 44 - 6, 0, 18, 900, mix(pitch, chalk, 0.1)))
  const rings = (x) =>
    times(5, (index) => ring(x + WIDE, FLOOR, 70 + index * 74, mix(pitchDeep, pitchSoft, 0.26), 18))
  const waves = (x) =>
    times(9, (index) =>
      line(
        `M${x - 10},${290 + index * 60} q32,-34 65,0 t65,0 t65,0 t65,0`,
        mix(ink, pitchSoft, 0.28),
        9,
      ),
    )
  const boards =
    board(150, 74, 380, 5, mist) +
    board(292, 68, 322, 26, paper) +
    board(440, 62, 262, 50, mist) +
    board(536, 54, 184, 76, paper)
  const sweep = times(5, (index) =>
    ring(250, FLOOR, 300 + index * 130, mix(floodlight, pitch, 0.16), 16),
  )
  return document(
    1600,
    900,
    rect(0, 0, 1600, 900, floodlight) +
      sweep +
      step(0, pitchSoft, dots, coins()) +
      step(1, pitch, bars, shirt()) +
      step(2, pitchDeep, rings, player()) +
      step(3, ink, waves, card()) +
      rect(0, FLOOR, 1600, 140, pitch) +
      times(8, (index) => rect(index * 220, FLOOR, 110, 140, mix(pitch, chalk, 0.07))) +
      rect(0, FLOOR, 1600, 12, paper) +
      boards +
      group('translate(72 796) rotate(-4)', ticket(190, 74, flare, paper)) +
      group('translate(312 800) rotate(3)', ticket(170, 66, paper, stone)),
  )
}
