import { bust } from '../portraits/portrait.mjs'
import { hairs } from '../portraits/tones.mjs'
import {
  chalk,
  flare,
  flareSoft,
  floodlight,
  ink,
  mist,
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
import { coin, football } from './shapes.mjs'

const young = {
  jaw: 80,
  chin: 30,
  neck: 54,
  nose: 18,
  brows: 8,
  blush: 0.4,
  lift: 1,
  mouth: 'grin',
}
const coralHair = { base: flare, light: '#FF9B7A', deep: '#B8381A' }
const fans = [
  {
    ...young,
    slug: 'fan-a',
    skin: 'umber',
    hair: ['curly', hairs.black],
    eyes: '#2A160C',
    turn: 0.5,
    tilt: -4,
    wears: { kind: 'hoodie', half: 300, colour: floodlight, under: ink },
  },
  {
    ...young,
    slug: 'fan-b',
    skin: 'light',
    lashes: true,
    hair: ['bob', coralHair],
    eyes: '#3A2314',
    turn: -0.6,
    tilt: 4,
    wears: { kind: 'track', half: 280, colour: pitchDeep, trim: floodlight, under: paper },
  },
  {
    ...young,
    slug: 'fan-c',
    skin: 'amber',
    lashes: true,
    hair: ['puff', hairs.espresso],
    eyes: '#2A160C',
    turn: 0.6,
    tilt: 2,
    earrings: floodlight,
    statement: true,
    wears: { kind: 'crew', half: 276, colour: paper, trim: flare, stripes: flare },
  },
]
const WIDE = 300
const HIGH = 480

const face = (index, ground, extra, zoom = 0.62, drop = 30) =>
  rect(0, 0, WIDE, HIGH, ground) +
  extra +
  group(
    `translate(${WIDE / 2} ${HIGH + drop}) scale(${zoom}) translate(-384 -768)`,
    bust(fans[index]),
  )
const heart = (x, y, size, fill) =>
  group(
    `translate(${x} ${y}) scale(${size})`,
    shape(
      'M0,50 C-88,-10 -64,-74 -26,-66 C-8,-63 0,-46 0,-40 C0,-46 8,-63 26,-66 C64,-74 88,-10 0,50 Z',
      fill,
    ),
  )

const tiles = [
  () =>
    rect(0, 0, WIDE, HIGH, pitch) +
    times(4, (index) => rect(index * 84, 0, 42, HIGH, mix(pitch, chalk, 0.08))) +
    group('translate(150 240) rotate(18)', football('wall', 108)),
  () =>
    rect(0, 0, WIDE, HIGH, sand) +
    heart(150, 240, 1.5, flare) +
    heart(244, 92, 0.4, flare) +
    heart(60, 380, 0.5, flareSoft),
  () =>
    rect(0, 0, WIDE, HIGH, floodlight) +
    times(
      4,
      (index) =>
        rect(40, 110 + index * 74, 220, 52, mix(floodlight, pitch, 0.2), 14) +
        rect(40, 110 + index * 74, [176, 104, 66, 38][index], 52, index === 0 ? ink : pitch, 14),
    ),
  () =>
    rect(0, 0, WIDE, HIGH, flare) +
    times(6, (index) => rect(0, index * 96, WIDE, 48, index % 2 ? flare : mix(flare, ink, 0.16))) +
    polygon(
      [
        [176, 40],
        [66, 268],
        [144, 268],
        [112, 440],
        [238, 194],
        [158, 194],
      ],
      floodlight,
    ),
  () => face(0, pitchSoft, circle(150, 210, 130, mist)),
  () =>
    rect(0, 0, WIDE, HIGH, pitchDeep) +
    times(6, (index) => ring(0, HIGH, 80 + index * 78, mix(pitchDeep, pitchSoft, 0.5), 24)) +
    circle(0, HIGH, 40, floodlight),
  () =>
    face(
      1,
      floodlight,
      times(5, (index) =>
        polygon(
          [
            [-200 + index * 120, HIGH],
            [-140 + index * 120, HIGH],
            [60 + index * 120, 0],
            [index * 120, 0],
          ],
          mix(floodlight, pitch, 0.16),
        ),
      ),
      0.66,
      34,
    ),
  () =>
    rect(0, 0, WIDE, HIGH, pitchSoft) +
    coin(150, 222, 92, floodlight, pitchDeep) +
    rect(60, 360, 180, 20, mix(pitchSoft, pitch, 0.5), 10) +
    rect(60, 360, 128, 20, floodlight, 10),
  () => face(2, flare, ring(150, 240, 130, mix(flare, chalk, 0.4), 10), 0.58, 62),
  () =>
    rect(0, 0, WIDE, HIGH, mist) +
    times(
      20,
      (index) =>
        rect(
          22 + (index % 4) * 68,
          36 + Math.floor(index / 4) * 86,
          50,
          44,
          (index * 5) % 7 === 0 ? flare : pitch,
          11,
        ) + rect(22 + (index % 4) * 68, 84 + Math.floor(index / 4) * 86, 50, 10, pitchDeep, 5),
    ),
  () =>
    rect(0, 0, WIDE, HIGH, pitchDeep) +
    circle(150, 240, 96, paper) +
    shape('M120,188 L206,240 L120,292 Z', pitchDeep),
  () =>
    rect(0, 0, WIDE, HIGH, paper) +
    rect(40, 60, 220, 360, pitch, 20) +
    times(6, (index) => rect(40, 90 + index * 56, 220, 26, floodlight)) +
    times(8, (index) => line(`M${56 + index * 27},420 v34`, pitch, 9)),
]

/** The order of the wall: three rows of seven, so that no two neighbours are alike. */
const wall = [
  [3, 0, 5, 2, 9, 1, 7],
  [10, 1, 4, 6, 8, 11, 3],
  [5, 9, 7, 0, 3, 2, 10],
]

const tile = (kind, column, row) => {
  const [x, y] = [column * (WIDE + 26), row * (HIGH + 26) + (column % 2 ? -96 : 0)]
  return group(
    `translate(${x} ${y})`,
    clipped(
      `tile-${column}-${row}`,
      `M30,0 H${WIDE - 30} q30,0 30,30 V${HIGH - 30} q0,30 -30,30 H30 q-30,0 -30,-30 V30 q0,-30 30,-30 Z`,
      tiles[kind]() +
        rect(24, HIGH - 28, WIDE - 48, 7, chalk, 3.5, 'opacity=".45"') +
        rect(24, HIGH - 28, (WIDE - 48) * (((kind * 37) % 70) / 100 + 0.2), 7, chalk, 3.5),
    ),
  )
}

/** A wall of short clips, and the young fans who are in them rather than in front of them. */
export const genZ = () =>
  document(
    1600,
    900,
    rect(0, 0, 1600, 900, ink) +
      group(
        'translate(800 450) rotate(-9) scale(.86) translate(-1128 -708)',
        wall
          .map((kinds, row) => kinds.map((kind, column) => tile(kind, column, row)).join(''))
          .join(''),
      ),
  )
