import { circle, group, line, rect, ring, shape, times } from '../core/svg.mjs'
import {
  coral,
  crest,
  glow,
  HEIGHT,
  lantern,
  navy,
  night,
  sand,
  text,
  white,
  WIDTH,
} from './club.mjs'
import { easeOut, progress, pulse, spring } from './motion.mjs'
import { cards, cues } from './timeline.mjs'

/** Shades that keep the words on a clip readable. */
export const scrims = `<linearGradient id="top" x1="0" y1="0" x2="0" y2="1"><stop stop-color="${night}" stop-opacity=".78"/><stop offset="1" stop-color="${night}" stop-opacity="0"/></linearGradient>
  <linearGradient id="bottom" x1="0" y1="0" x2="0" y2="1"><stop stop-color="${night}" stop-opacity="0"/><stop offset=".55" stop-color="${night}" stop-opacity=".82"/><stop offset="1" stop-color="${night}" stop-opacity=".94"/></linearGradient>`

/** Time, signal and battery. */
export const statusBar = (fill = white) =>
  text(34, 33, '19:45', { size: 15.5, weight: 700, fill }) +
  times(4, (index) => rect(298 + index * 5.4, 30 - index * 2.8, 3.6, 4 + index * 2.8, fill, 1)) +
  line('M325,25 a9,9 0 0 1 13,0 M328,29 a5,5 0 0 1 7,0', fill, 2) +
  circle(331.5, 32.4, 1.7, fill) +
  rect(346, 22, 23, 12, 'none', 3.6, `stroke="${fill}" stroke-width="1.4"`) +
  rect(348.2, 24.2, 15, 7.6, fill, 1.8) +
  rect(370.4, 25.6, 1.8, 5, fill, 1)

/** The club's name on the left, the fan's points on the right; `bump` is 0 to 1 when points arrive. */
export function topBar(points, bump) {
  const amount = points.toLocaleString('en-GB')
  return (
    group('translate(36 78) scale(.72)', crest()) +
    text(58, 85, 'The Row', { size: 21, weight: 800, family: 'Bricolage', spacing: -0.3 }) +
    group(
      `translate(319 78) scale(${1 + bump * 0.12})`,
      rect(
        -51,
        -17,
        102,
        34,
        bump > 0.05 ? coral : navy,
        17,
        `stroke="${sand}" stroke-opacity=".35" stroke-width="1"`,
      ) +
        group('translate(-32 -1) scale(.66)', lantern(bump > 0.05 ? navy : coral)) +
        text(38, 5.6, amount, {
          size: 16.5,
          weight: 800,
          anchor: 'end',
          family: 'Bricolage',
          fill: bump > 0.05 ? navy : white,
        }),
    )
  )
}

const heart =
  'M0,9 C-15,-2 -11,-13 -4.5,-11.5 C-1.5,-11 0,-8 0,-7 C0,-8 1.5,-11 4.5,-11.5 C11,-13 15,-2 0,9 Z'
const icons = {
  heart: (on) => shape(heart, on ? coral : white),
  comment: () =>
    shape(
      'M-12,-9 h24 q3,0 3,3 v12 q0,3 -3,3 h-12 l-8,7 v-7 h-4 q-3,0 -3,-3 v-12 q0,-3 3,-3 Z',
      white,
    ) +
    circle(-6, 0, 1.8, night) +
    circle(0, 0, 1.8, night) +
    circle(6, 0, 1.8, night),
  share: () => shape('M1,-12 L15,-1 L1,10 V4 C-7,4 -12,7 -15,12 C-15,1 -9,-5 1,-6 Z', white),
}

const sparks = (share) =>
  times(8, (index) =>
    group(
      `rotate(${index * 45})`,
      rect(-1.6, -16 - share * 22, 3.2, 9 * (1 - share) + 1, index % 2 ? coral : glow, 1.6),
    ),
  )

/** The column of a clip's buttons: like, comment, share. */
export function rail({ likes, comments, shares, liked }, time) {
  const since = time - cues.like
  const touched = liked && since > 0 && since < 12
  const beat = touched ? 0.55 + spring(progress(since, 0, 0.5)) * 0.45 : 1
  const burst = liked && since > 0 && since < 0.5 ? sparks(easeOut(progress(since, 0, 0.5))) : ''
  const button = (y, icon, count) =>
    group(
      `translate(354 ${y})`,
      circle(0, 0, 23, night, 'opacity=".5"') +
        icon +
        text(0, 39, count, {
          size: 12,
          weight: 700,
          anchor: 'middle',
          extra: `paint-order="stroke" stroke="${night}" stroke-opacity=".55" stroke-width="3"`,
        }),
    )
  return (
    button(444, group(`scale(${1.18 * beat})`, icons.heart(touched)) + burst, likes(touched)) +
    button(518, group('scale(.86)', icons.comment()), comments) +
    button(592, group('scale(.86)', icons.share()), shares)
  )
}

/** Who posted a clip, and the words under it; `width` is how far the author's name runs. */
export function caption({ author, width, lines, tag }) {
  const top = 738 - lines.length * 20
  return (
    group(
      `translate(34 ${top - 34})`,
      circle(0, 0, 16, sand) + group('scale(.5)', crest(navy, coral)),
    ) +
    text(58, top - 29, author, { size: 15, weight: 800 }) +
    group(
      `translate(${70 + width} ${top - 34})`,
      circle(0, 0, 7, coral) + line('M-3,0 L-0.8,2.4 L3.2,-2.2', navy, 1.9),
    ) +
    lines
      .map((words, index) => text(20, top + 3 + index * 20, words, { size: 14.5, weight: 500 }))
      .join('') +
    (tag
      ? group(
          `translate(20 ${top - 86})`,
          rect(0, 0, tag.length * 7.4 + 24, 26, sand, 13) +
            text(12 + tag.length * 3.7, 17.6, tag, {
              size: 12,
              weight: 800,
              anchor: 'middle',
              fill: navy,
            }),
        )
      : '')
  )
}

/** How much of the clip has been seen. */
export const clipProgress = (share) =>
  rect(20, 752, 350, 3, white, 1.5, 'opacity=".28"') + rect(20, 752, 350 * share, 3, coral, 1.5)

const navIcons = [
  [
    'Feed',
    () => rect(-8, -11, 16, 22, 'currentColor', 4) + shape('M-2.5,-4.5 L4.5,0 L-2.5,4.5 Z', navy),
  ],
  [
    'Matches',
    () =>
      ring(0, 0, 10, 'currentColor', 2.4) +
      shape('M0,-4.6 L4.4,-1.4 L2.7,3.7 H-2.7 L-4.4,-1.4 Z', 'currentColor'),
  ],
  [
    'Polls',
    () =>
      rect(-10, -1, 5, 11, 'currentColor', 2) +
      rect(-2.5, -10, 5, 20, 'currentColor', 2) +
      rect(5, -5, 5, 15, 'currentColor', 2),
  ],
  ['Rewards', () => group('scale(.74)', lantern('currentColor', 'currentColor'))],
  [
    'Me',
    () =>
      circle(0, -5, 5, 'currentColor') +
      shape('M-9.5,10.5 C-9.5,-0.5 9.5,-0.5 9.5,10.5 Z', 'currentColor'),
  ],
]

/** The bar at the foot of the app; `active` is the index of the room one is in. */
export const navBar = (active) =>
  rect(0, 762, WIDTH, HEIGHT - 762, navy) +
  rect(0, 762, WIDTH, 1, white, 0, 'opacity=".12"') +
  navIcons
    .map(
      ([name, icon], index) =>
        `<g transform="translate(${42 + index * 76.5} 790)" color="${index === active ? coral : '#8FA3CF'}">${icon()}${text(0, 26, name, { size: 11, weight: 700, anchor: 'middle', fill: 'currentColor' })}</g>`,
    )
    .join('') +
  rect(128, 831, 134, 4.6, white, 2.3)

/** The thumb on the glass: where it is, and how firmly, 0 to 1. */
export const thumb = (x, y, press) =>
  press <= 0
    ? ''
    : group(
        `translate(${x} ${y})`,
        circle(0, 0, 27 - press * 5, white, `opacity="${0.34 * press}"`) +
          ring(0, 0, 27 - press * 5, white, 2, `opacity="${0.8 * press}"`),
      )

/** The thumb that pushes one card away for the next. */
export function swipes(time, length) {
  return cards
    .map((card, index) => {
      const end = cards[index + 1]?.from ?? length
      const share = progress(time, card.to - 0.12, end - 0.1)
      return thumb(250, 600 - easeOut(share) * 300, pulse(time, card.to - 0.22, end))
    })
    .join('')
}
