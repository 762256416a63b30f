import {
  chalk,
  flare,
  flareSoft,
  floodlight,
  ink,
  mix,
  paper,
  pitch,
  pitchDeep,
  pitchSoft,
  sand,
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
import { coin, football, phone } from './shapes.mjs'

const BREACH = [640, 420]

/** The television that everybody watched: a pitch from above, and a hole where the ball left. */
function television() {
  const screen =
    rect(70, 214, 560, 420, pitch) +
    times(5, (index) => rect(70 + index * 140, 214, 70, 420, mix(pitch, chalk, 0.07))) +
    ring(330, 424, 92, mix(pitch, chalk, 0.75), 9) +
    line('M330,214 V634', mix(pitch, chalk, 0.75), 9) +
    circle(330, 424, 13, paper) +
    line('M70,316 H170 V532 H70', mix(pitch, chalk, 0.75), 9)
  const burst = polygon(
    Array.from({ length: 22 }, (_, index) => {
      const angle = (index / 22) * Math.PI * 2
      const reach = index % 2 ? 118 : 206
      return [BREACH[0] - 30 + Math.cos(angle) * reach, BREACH[1] + Math.sin(angle) * reach]
    }),
    floodlight,
  )
  return (
    line('M300,160 L180,24 M380,160 L500,40', ink, 14) +
    circle(180, 24, 18, flare) +
    circle(500, 40, 18, flare) +
    rect(26, 156, 716, 540, ink, 56) +
    rect(54, 196, 592, 456, mix(ink, chalk, 0.16), 44) +
    clipped(
      'tube',
      'M110,214 H590 q40,0 40,40 V594 q0,40 -40,40 H110 q-40,0 -40,-40 V254 q0,-40 40,-40 Z',
      screen + burst,
    ) +
    circle(694, 270, 24, sand) +
    line('M694,270 L706,256', ink, 6) +
    circle(694, 346, 24, sand) +
    line('M694,346 L680,336', ink, 6) +
    times(6, (index) => rect(672, 470 + index * 24, 44, 9, mix(ink, chalk, 0.22), 4)) +
    line('M190,696 L150,800 M580,696 L620,800', ink, 22)
  )
}
const screens = {
  poll:
    rect(0, 0, 210, 440, pitchDeep) +
    rect(32, 150, 146, 42, pitchSoft, 10) +
    rect(32, 208, 92, 42, floodlight, 10) +
    rect(32, 266, 60, 42, pitchSoft, 10) +
    circle(105, 92, 30, floodlight),
  heart:
    rect(0, 0, 210, 440, flare) +
    shape(
      'M105,300 C20,236 40,164 78,170 C96,172 105,190 105,196 C105,190 114,172 132,170 C170,164 190,236 105,300 Z',
      paper,
    ) +
    rect(32, 360, 146, 14, mix(flare, ink, 0.3), 7),
  centre:
    rect(0, 0, 210, 440, pitchSoft) +
    ring(105, 220, 66, paper, 12) +
    rect(0, 214, 210, 12, paper) +
    circle(105, 220, 14, paper),
  points:
    rect(0, 0, 210, 440, pitch) +
    coin(105, 200, 62, floodlight, pitchDeep) +
    rect(40, 316, 130, 16, pitchDeep, 8) +
    rect(40, 316, 88, 16, floodlight, 8),
  play:
    rect(0, 0, 210, 440, floodlight) +
    times(6, (index) =>
      polygon(
        [
          [-200 + index * 100, 440],
          [-150 + index * 100, 440],
          [50 + index * 100, 0],
          [0 + index * 100, 0],
        ],
        mix(floodlight, pitch, 0.16),
      ),
    ) +
    circle(105, 220, 54, ink) +
    shape('M88,192 L136,220 L88,248 Z', floodlight),
}

const handset = (name, x, y, turn, size) =>
  group(
    `translate(${x} ${y}) rotate(${turn}) scale(${size}) translate(-105 -220)`,
    rect(14, 18, 210, 440, ink, 32, 'opacity=".18"') + phone(name, 210, 440, ink, screens[name]),
  )

/** From one screen for all to a screen for each: the ball leaves the television. */
export function broadcast() {
  const waves = times(7, (index) =>
    ring(
      BREACH[0] + 20,
      BREACH[1],
      250 + index * 138,
      index % 2 ? mix(sand, flareSoft, 0.62) : mix(sand, flareSoft, 0.9),
      52,
    ),
  )
  const stand =
    rect(0, 800, 1600, 100, pitchDeep) +
    times(27, (index) => rect(index * 60 + 6, 822, 44, 34, pitch, 9))
  const shards = [
    [820, 196, 30],
    [866, 640, 70],
    [786, 706, 10],
    [905, 300, 100],
    [760, 140, 140],
  ]
    .map(([x, y, turn], index) =>
      group(
        `translate(${x} ${y}) rotate(${turn})`,
        polygon(
          [
            [-26, 14],
            [4, -22],
            [24, 18],
          ],
          index % 2 ? ink : pitch,
        ),
      ),
    )
    .join('')
  return document(
    1600,
    900,
    rect(0, 0, 1600, 900, sand) +
      waves +
      stand +
      television() +
      handset('centre', 1068, 196, -12, 0.74) +
      handset('heart', 1310, 236, 8, 0.86) +
      handset('poll', 1496, 520, 14, 0.9) +
      handset('points', 1262, 626, -6, 0.92) +
      handset('play', 1016, 640, -16, 0.78) +
      shards +
      group('translate(806 420) rotate(20)', football('out', 132)),
  )
}
