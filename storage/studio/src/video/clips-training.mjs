import { bust } from '../portraits/portrait.mjs'
import { hairs } from '../portraits/tones.mjs'
import { circle, group, line, polygon, rect, shape, times } from '../core/svg.mjs'
import { coral, glow, HEIGHT, navy, sand, turf, turfDark, white, WIDTH } from './club.mjs'
import { wave } from './motion.mjs'
import { cards, LENGTH } from './timeline.mjs'

const okafor = {
  slug: 'okafor',
  skin: 'brown',
  hair: ['fade', hairs.black, 'skin'],
  eyes: '#2A160C',
  turn: 0.6,
  tilt: 1,
  beard: 'stubble',
  mouth: 'grin',
  jaw: 88,
  chin: 38,
  neck: 66,
  nose: 23,
  brows: 12,
  blush: 0.2,
  lift: 0,
  wears: { kind: 'track', half: 350, colour: navy, trim: coral, under: sand },
}

const gull = (x, y, size, flap) =>
  line(
    `M${x - size},${y - flap} Q${x - size / 2},${y - size * 0.5} ${x},${y} Q${x + size / 2},${y - size * 0.5} ${x + size},${y - flap}`,
    white,
    2.4,
  )

const cone = (x, y, size) =>
  polygon(
    [
      [x - 9 * size, y],
      [x + 9 * size, y],
      [x + 2 * size, y - 26 * size],
      [x - 2 * size, y - 26 * size],
    ],
    coral,
  ) +
  rect(x - 12 * size, y - 2, 24 * size, 4 * size, coral, 2) +
  polygon(
    [
      [x - 6.6 * size, y - 8 * size],
      [x + 6.6 * size, y - 8 * size],
      [x + 4.8 * size, y - 14 * size],
      [x - 4.8 * size, y - 14 * size],
    ],
    sand,
  )

/** The jacket below the bust, which the poll soon covers. */
const jacket =
  rect(34, 784, 700, 500, navy) +
  rect(474, 784, 260, 500, '#102040') +
  line('M58,790 V1280 M710,790 V1280', coral, 13) +
  line('M92,790 V1280 M676,790 V1280', coral, 5) +
  line('M384,784 V1280', coral, 6)
const portrait = bust(okafor) + jacket

/** Morning over the harbour; `drift` is the seconds that clouds and gulls have been under way. */
function harbour(time, drift) {
  const masts = times(5, (index) =>
    group(
      `translate(${20 + index * 92} ${wave(time, LENGTH, 4, index) * 2})`,
      line('M0,300 V226', '#9C5F4B', 3) +
        polygon(
          [
            [3, 230],
            [3, 288],
            [34, 288],
          ],
          index % 2 ? white : sand,
        ) +
        shape('M-22,296 H34 L26,312 H-14 Z', navy),
    ),
  )
  return (
    rect(0, 0, WIDTH, HEIGHT, '#FFB99C') +
    rect(0, 0, WIDTH, 190, '#FFA587') +
    circle(292, 196, 74, '#FFE3A6') +
    circle(292, 196, 52, glow) +
    times(4, (index) =>
      rect(-40 + ((index * 137 + drift * 5) % 460), 112 + index * 30, 96, 9, '#FFD2BC', 5),
    ) +
    gull(86 + drift * 9, 168, 15, 3 + wave(time, LENGTH, 15) * 4) +
    gull(130 + drift * 9, 190, 10, 2 + wave(time, LENGTH, 17) * 3) +
    polygon(
      [
        [0, 262],
        [70, 226],
        [150, 258],
        [240, 214],
        [330, 250],
        [390, 232],
        [390, 310],
        [0, 310],
      ],
      '#E0836A',
    ) +
    masts +
    rect(0, 306, WIDTH, 34, '#4C7FB0') +
    times(6, (index) =>
      rect(
        index * 70 + wave(time, LENGTH, 3, index) * 8,
        314 + (index % 3) * 8,
        34,
        3,
        '#8FB4D4',
        2,
      ),
    )
  )
}

/** The training ground at the water. */
const ground =
  rect(0, 334, WIDTH, 520, turf) +
  times(4, (index) =>
    polygon(
      [
        [index * 120 - 30, 334],
        [index * 120 + 30, 334],
        [index * 190 - 120, HEIGHT],
        [index * 190 - 240, HEIGHT],
      ],
      turfDark,
    ),
  ) +
  line('M24,336 V268 H150 V336', white, 4) +
  times(7, (index) => line(`M${24 + index * 21},270 V334`, white, 0.8, 'opacity=".6"')) +
  times(4, (index) => line(`M26,${280 + index * 15} H148`, white, 0.8, 'opacity=".6"')) +
  cone(44, 420, 1) +
  cone(352, 404, 0.9) +
  cone(372, 470, 1.25)

/** A player after training, by the water, in the morning. */
export function training(time) {
  const drift = time - cards[1].from
  const nod = wave(time, LENGTH, 6) * 1.3
  return (
    harbour(time, drift) +
    ground +
    group(`translate(${187 + drift * 1.2} ${168 + nod}) scale(.6) translate(-384 -150)`, portrait)
  )
}
