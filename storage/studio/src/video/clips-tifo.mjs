import { circle, group, line, polygon, rect, times } from '../core/svg.mjs'
import { coral, dusk, glow, HEIGHT, navy, night, sand, text, white, WIDTH } from './club.mjs'
import { between, easeOut, progress, spring, wave } from './motion.mjs'
import { cards, cues, LENGTH } from './timeline.mjs'

/** The picture that the stand holds up, a card a seat: c coral, g glow, w white, n navy, s sand, . left dark. */
const PICTURE = [
  '...................',
  '.......ccccc.......',
  '......cc...cc......',
  '......c.....c......',
  'g...ccccccccccc...g',
  '.g..ccccccccccc..g.',
  '..g..cgggcgggc..g..',
  '.....cggwcwggc.....',
  '.....cgwwcwwgc.....',
  'ggg..cgwwcwwgc..ggg',
  '.....cgwwcwwgc.....',
  '.....cgwwcwwgc.....',
  '..g..cggwcwggc..g..',
  '.g...cgggcgggc...g.',
  'g...ccccccccccc...g',
  '....ccccccccccc....',
  '...ccccccccccccc...',
  's.....s.....s.....s',
  'ss...sss...sss...ss',
  'nsssssnsssssnsssssn',
  'nnsssnnnsssnnnsssnn',
  'nnnnnnnnnnnnnnnnnnn',
]
const paint = { c: coral, g: glow, w: white, s: sand, n: '#3E66B4', '.': '#1B3163' }

function seat(column, row, key, time) {
  const delay = cues.tifo + (column * 0.03 + (PICTURE.length - row) * 0.026)
  const turn = progress(time, delay, delay + 0.3)
  const shown = turn > 0.5
  const width = Math.max(0.08, Math.abs(Math.cos(turn * Math.PI)))
  const sway = wave(time, LENGTH, 8, column * 0.5 + row * 0.35) * 1.6
  const depth = 0.86 + row * 0.0095
  const x = WIDTH / 2 + (column - 9) * 20.6 * depth * 1.06
  const fill = shown ? paint[key] : (column + row) % 2 ? '#0F1D40' : '#132348'
  return group(
    `translate(${x.toFixed(1)} ${(186 + row * 18.5 + sway).toFixed(1)}) scale(1 ${width.toFixed(2)})`,
    rect(-9 * depth, -7.9, 18 * depth, 15.8, fill, 2.5),
  )
}

const roof =
  polygon(
    [
      [0, 96],
      [WIDTH, 96],
      [WIDTH, 150],
      [0, 176],
    ],
    '#0A1430',
  ) +
  times(9, (index) =>
    line(`M${index * 50 - 10},96 L${index * 50 + 26},${170 - index * 2}`, '#1B3163', 3),
  ) +
  times(10, (index) => circle(20 + index * 39, 168 - index * 2.4, 4, '#FFF6DA'))

/** The whole stand turns its cards: a lantern over the harbour. */
export function tifo(time) {
  const lit = easeOut(progress(time, cues.tifo + 1.0, cues.tifo + 1.6))
  const banner = spring(progress(time, cues.tifo + 0.9, cues.tifo + 1.9))
  const seats = PICTURE.map((cells, row) =>
    [...cells].map((key, column) => seat(column, row, key, time)).join(''),
  ).join('')
  const rays = times(12, (index) =>
    group(
      `rotate(${index * 30 + (time - cards[2].from) * 7})`,
      polygon(
        [
          [-7, -100],
          [7, -100],
          [30, -420],
          [-30, -420],
        ],
        glow,
        `opacity="${(0.11 * lit).toFixed(3)}"`,
      ),
    ),
  )
  return (
    rect(0, 0, WIDTH, HEIGHT, night) +
    rect(0, 0, WIDTH, 170, navy) +
    circle(60, 90, 90, dusk, 'opacity=".35"') +
    rect(0, 160, WIDTH, 500, '#0D1A3A') +
    seats +
    roof +
    group('translate(195 360)', rays) +
    group(
      `translate(195 ${between(700, 588, banner)})`,
      polygon(
        [
          [-210, -26],
          [210, -18],
          [210, 30],
          [-210, 24],
        ],
        sand,
      ) +
        text(0, 15, 'KEEP IT LIT', {
          size: 34,
          weight: 800,
          anchor: 'middle',
          family: 'Bricolage',
          fill: navy,
          spacing: 3,
        }),
    ) +
    rect(0, 628, WIDTH, 220, '#0A1430') +
    times(13, (index) =>
      circle(index * 34 - 8, 632 + wave(time, LENGTH, 10, index) * 3, 15, '#0A1430'),
    )
  )
}
