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

const night = '#0B1714'
const keyhole =
  'M800,250 C912,250 990,332 990,434 C990,506 952,562 906,594 L972,940 H628 L694,594 C648,562 610,506 610,434 C610,332 688,250 800,250 Z'

const bubble = (x, y, size, fill, body, lean = 1) =>
  group(
    `translate(${x} ${y}) scale(${size})`,
    shape(
      `M-62,-44 H62 q16,0 16,16 V24 q0,16 -16,16 H${lean * 20 + 10} L${lean * 44},68 L${lean * 20 - 24},40 H-62 q-16,0 -16,-16 V-28 q0,-16 16,-16 Z`,
      fill,
    ) + body,
  )
const cross = line('M-17,-19 L17,15 M17,-19 L-17,15', ink, 13)
const lines = (colour) => line('M-40,-16 H40 M-40,10 H14', colour, 11)
const heart = (fill) =>
  shape(
    'M0,26 C-44,-4 -32,-36 -13,-32 C-4,-31 0,-22 0,-20 C0,-22 4,-31 13,-32 C32,-36 44,-4 0,26 Z',
    fill,
  )
const tick = line('M-22,-2 L-6,14 L24,-20', pitch, 12)

function tower(x, side) {
  const stones = times(13, (row) =>
    times(3, (column) =>
      rect(
        x - 108 + column * 76 + (row % 2) * 26,
        330 + row * 46,
        54,
        24,
        mix(pitchDeep, ink, 0.35),
        4,
      ),
    ),
  )
  const crown = times(4, (index) => rect(x - 128 + index * 72, 232, 40, 46, pitchDeep))
  const lamps =
    rect(x - 96, 60, 192, 118, mix(ink, pitchSoft, 0.16), 12) +
    times(12, (index) =>
      circle(x - 66 + (index % 4) * 44, 88 + Math.floor(index / 4) * 31, 11.5, floodlight),
    )
  return (
    rect(x - 9, 170, 18, 70, ink) +
    lamps +
    crown +
    rect(x - 128, 270, 256, 40, pitchDeep) +
    rect(x - 112, 304, 224, 600, mix(pitchDeep, ink, 0.14)) +
    clipped(`tower-${x}`, `M${x - 112},310 H${x + 112} V900 H${x - 112} Z`, stones) +
    rect(x + (side < 0 ? 56 : -112), 304, 56, 600, night, 0, 'opacity=".22"') +
    shape(`M${x - 24},480 v-50 a24,24 0 0 1 48,0 v50 Z`, floodlight)
  )
}

function wall() {
  const merlons = times(16, (index) => rect(126 + index * 88, 372, 50, 54, pitch))
  const stones = times(11, (row) =>
    times(14, (column) =>
      rect(
        150 + column * 100 + (row % 2) * 50,
        462 + row * 42,
        76,
        24,
        mix(pitch, pitchDeep, (column * 7 + row * 3) % 5 === 0 ? 0.9 : 0.45),
        5,
      ),
    ),
  )
  return (
    merlons +
    rect(110, 416, 1380, 500, pitch) +
    rect(110, 416, 1380, 16, mix(pitch, chalk, 0.18)) +
    clipped('wall', 'M110,416 H1490 V900 H110 Z', stones)
  )
}

/** What lies behind the keyhole: the club's own ground by day. */
function inside() {
  const crowd = times(96, (index) =>
    circle(
      590 + (index % 24) * 18 + (Math.floor(index / 24) % 2) * 9,
      440 + Math.floor(index / 24) * 17,
      6.5,
      [flare, paper, pitchDeep, flare, pitchSoft][(index * 7 + Math.floor(index / 24) * 3) % 5],
    ),
  )
  const grass =
    rect(560, 516, 480, 400, pitch) +
    times(5, (index) =>
      polygon(
        [
          [700 + index * 44, 516],
          [722 + index * 44, 516],
          [560 + index * 124, 900],
          [498 + index * 124, 900],
        ],
        mix(pitch, chalk, 0.12),
      ),
    )
  return (
    rect(560, 230, 480, 700, floodlight) +
    circle(800, 430, 120, mix(floodlight, chalk, 0.55)) +
    rect(560, 424, 480, 94, mix(floodlight, pitchDeep, 0.35)) +
    crowd +
    grass +
    `<ellipse cx="800" cy="700" rx="112" ry="46" fill="none" stroke="${chalk}" stroke-width="8"/>` +
    line('M560,700 H1040', chalk, 8) +
    line('M560,516 H1040', chalk, 6) +
    bubble(742, 372, 0.74, chalk, heart(flare), -1) +
    bubble(862, 330, 0.64, paper, tick) +
    bubble(800, 806, 0.92, chalk, lines(pitch))
  )
}

/** A closed ground: a stadium built as a fortress, whose gate is a keyhole. Abuse stays outside the wall. */
export function fortress() {
  const sky =
    rect(0, 0, 1600, 900, night) +
    times(4, (index) =>
      ring(800, 430, 380 + index * 150, mix(night, pitchSoft, 0.16 - index * 0.03), 70),
    )
  const outside =
    bubble(118, 250, 1.05, flare, cross) +
    bubble(96, 596, 0.8, flare, lines(ink), -1) +
    bubble(1482, 214, 0.92, flare, lines(ink), -1) +
    bubble(1516, 560, 1, flare, cross, -1)
  const bounces =
    line('M176,360 L250,400 L196,450', flare, 6, 'stroke-dasharray="2 16"') +
    line('M1424,340 L1352,390 L1412,450', flare, 6, 'stroke-dasharray="2 16"')
  return document(
    1600,
    900,
    sky +
      wall() +
      tower(330, -1) +
      tower(1270, 1) +
      outside +
      bounces +
      shape(keyhole, ink, 'transform="translate(800 480) scale(1.14 1.1) translate(-800 -480)"') +
      clipped('keyhole', keyhole, inside()) +
      line(keyhole, mist, 10),
  )
}
