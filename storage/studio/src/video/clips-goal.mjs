import { seeded } from '../core/random.mjs'
import { circle, group, line, polygon, rect, shape, times } from '../core/svg.mjs'
import {
  coral,
  dusk,
  glow,
  HEIGHT,
  navy,
  night,
  sand,
  text,
  turf,
  turfDark,
  white,
  WIDTH,
} from './club.mjs'
import { between, easeOut, progress, pulse, spring, wave } from './motion.mjs'
import { cues, LENGTH } from './timeline.mjs'

const farCrowd = (() => {
  const random = seeded(11)
  return times(420, (index) =>
    circle(
      (index % 42) * 9.4 + random.between(0, 5),
      236 + Math.floor(index / 42) * 9 + random.between(0, 3),
      3.1,
      random.pick([dusk, dusk, '#3A5A9B', coral, sand, '#1D3261']),
    ),
  )
})()

const pylon = (x) =>
  rect(x - 3, 120, 6, 120, '#1D3261') +
  rect(x - 30, 92, 60, 34, '#1D3261', 4) +
  times(8, (index) =>
    circle(x - 21 + (index % 4) * 14, 102 + Math.floor(index / 4) * 14, 4.6, '#FFF6DA'),
  )

const beam = (x, lean) =>
  polygon(
    [
      [x - 24, 110],
      [x + 24, 110],
      [x + lean + 150, 560],
      [x + lean - 110, 560],
    ],
    white,
    'opacity=".06"',
  )

/** The net seen from behind the goal; `bulge` is 0 to 1 around the point where the ball went in. */
function net(bulge) {
  const [hitX, hitY] = [246, 402]
  const push = (x, y) => {
    const near = Math.exp(-((x - hitX) ** 2 + (y - hitY) ** 2) / 2600) * bulge
    return [x + (hitX - x) * near * 0.25, y + (hitY - y) * near * 0.25 + near * 16]
  }
  const thread = (spots) =>
    line(
      `M${spots
        .map(([x, y]) =>
          push(x, y)
            .map((v) => v.toFixed(1))
            .join(','),
        )
        .join(' L')}`,
      white,
      1.1,
      'opacity=".6"',
    )
  const steps = (count, draw) => Array.from({ length: count }, (_, index) => draw(index))
  return (
    times(19, (index) => thread(steps(14, (at) => [64 + index * 14.6, 336 + at * 10.8]))) +
    times(14, (index) => thread(steps(28, (at) => [64 + at * 9.75, 336 + index * 10.8]))) +
    line('M60,480 V332 H330 V480', white, 7)
  )
}

const keeper = (dive) =>
  group(
    `translate(${between(196, 236, dive)} ${between(430, 418, dive)}) rotate(${between(0, 58, dive)})`,
    circle(0, -44, 10, '#8C5A3B') +
      shape('M-14,-32 H14 L12,8 H-12 Z', glow) +
      line(
        `M-10,-26 L${between(-30, -22, dive)},${between(-10, -54, dive)} M10,-26 L${between(30, 20, dive)},${between(-10, -60, dive)}`,
        glow,
        8,
      ) +
      line('M-6,6 L-12,40 M6,6 L12,40', night, 9),
  )

function ball(time) {
  const flight = progress(time, cues.strike, cues.net)
  const x = between(120, 246, flight)
  const y = between(470, 402, easeOut(flight)) - Math.sin(flight * Math.PI) * 92
  const drop = progress(time, cues.net + 0.12, cues.net + 0.6) ** 2
  const size = between(6, 10.5, flight)
  return group(
    `translate(${x} ${y + drop * 66}) rotate(${flight * 500 + drop * 90})`,
    circle(0, 0, size, white) +
      circle(0, 0, size * 0.36, night) +
      times(5, (index) =>
        group(`rotate(${index * 72})`, rect(-1.6, -size, 3.2, size * 0.34, night)),
      ),
  )
}

const striker = (time) =>
  group(
    `translate(104 474) rotate(${pulse(time, 0.1, 0.7) * -14})`,
    circle(0, -46, 9, '#5E3A26') +
      shape('M-12,-36 H12 L10,-4 H-10 Z', coral) +
      text(0, -14, '9', {
        size: 18,
        weight: 800,
        anchor: 'middle',
        family: 'Bricolage',
        fill: navy,
      }) +
      line(`M-9,-32 L-22,-14 M9,-32 L24,-${between(16, 30, pulse(time, 0.1, 2.4))}`, coral, 7) +
      line(
        `M-4,-4 L-8,28 M4,-4 L${between(8, 26, pulse(time, 0.2, 0.8))},${between(28, 16, pulse(time, 0.2, 0.8))}`,
        white,
        8,
      ),
  )

const fans = (() => {
  const random = seeded(5)
  return Array.from({ length: 26 }, (_, index) => {
    const row = index < 10 ? 0 : index < 19 ? 1 : 2
    const at = row === 0 ? index : row === 1 ? index - 10 : index - 19
    return {
      x: at * [43, 47, 62][row] + random.between(-8, 8),
      y: [540, 600, 690][row],
      size: [19, 24, 32][row],
      row,
      phase: random.between(0, 6.28),
      cycles: random.pick([9, 10, 11, 12]),
      arms: random.chance(0.6),
      scarf: random.chance(0.26),
      hat: random.chance(0.4),
    }
  })
})()

/** One supporter from behind: raises the arms, or a scarf, once the ball is in. */
function fan(person, time) {
  const { size, phase, cycles, arms, scarf, hat } = person
  const joy = progress(time, cues.net, cues.net + 0.35) * (1 - progress(time, 3.3, 3.6))
  const bounce =
    wave(time, LENGTH, 3, phase) * 1.5 - Math.abs(wave(time, LENGTH, cycles * 2, phase)) * 15 * joy
  const tone = ['#2D4A92', '#20386F', '#142550'][person.row]
  const trim = person.row === 1 ? sand : coral
  const reach = between(-0.2, 1, easeOut(joy))
  const hand = -size * (0.6 + 2.1 * reach)
  const raised = arms
    ? line(
        `M${-size * 1.15},${size * 1.7} L${-size * 1.35},${hand} M${size * 1.15},${size * 1.7} L${size * 1.35},${hand}`,
        tone,
        size * 0.46,
      )
    : ''
  const cloth =
    scarf && arms
      ? group(
          `translate(0 ${hand - 2})`,
          rect(-size * 1.9, -size * 0.32, size * 3.8, size * 0.68, sand, 3) +
            times(4, (index) =>
              rect(
                -size * 1.9 + size * (0.3 + index * 0.95),
                -size * 0.32,
                size * 0.46,
                size * 0.68,
                coral,
              ),
            ),
        )
      : ''
  return group(
    `translate(${person.x} ${person.y + bounce})`,
    raised +
      cloth +
      shape(
        `M${-size * 1.75},${size * 8} V${size * 2.4} Q${-size * 1.6},${size * 1.25} ${-size * 0.5},${size * 1.1} H${size * 0.5} Q${size * 1.6},${size * 1.25} ${size * 1.75},${size * 2.4} V${size * 8} Z`,
        tone,
      ) +
      circle(0, 0, size, tone) +
      (hat
        ? shape(`M${-size},-2 A${size},${size} 0 0 1 ${size},-2 Z`, trim) +
          circle(0, -size - 3, size * 0.26, trim)
        : ''),
  )
}

const confetti = (() => {
  const random = seeded(77)
  return Array.from({ length: 46 }, () => ({
    x: random.between(0, WIDTH),
    start: random.between(-0.1, 0.5),
    fall: random.between(190, 330),
    size: random.between(5, 10),
    spin: random.between(-400, 400),
    drift: random.between(-36, 36),
    fill: random.pick([coral, sand, white, glow]),
  }))
})()

const shower = (time) =>
  confetti
    .map((piece) => {
      const age = time - cues.net - piece.start
      if (age < 0 || time > 3.6) return ''
      return group(
        `translate(${piece.x + piece.drift * age} ${70 + piece.fall * age}) rotate(${piece.spin * age})`,
        rect(-piece.size / 2, -2, piece.size, piece.size * 0.55, piece.fill, 1),
      )
    })
    .join('')

function score(time) {
  const flip = progress(time, cues.net + 0.25, cues.net + 0.6)
  const scored = flip >= 0.5 && time < 3.6
  const pop = 1 + pulse(time, cues.net + 0.25, cues.net + 0.8) * 0.08
  return group(
    `translate(195 152) scale(${pop})`,
    rect(-98, -21, 196, 42, night, 12, 'opacity=".92"') +
      rect(-30, -21, 60, 42, coral) +
      text(-64, 6, 'HRW', { size: 16, weight: 800, anchor: 'middle', family: 'Bricolage' }) +
      text(64, 6, 'MRH', { size: 16, weight: 800, anchor: 'middle', family: 'Bricolage' }) +
      group(
        `translate(0 0) scale(1 ${Math.abs(Math.cos(flip * Math.PI)).toFixed(3)})`,
        text(0, 7, scored ? '2–1' : '1–1', {
          size: 20,
          weight: 800,
          anchor: 'middle',
          family: 'Bricolage',
          fill: navy,
        }),
      ),
  )
}

/** A goal, seen from the stand behind it. */
export function goal(time) {
  const dive =
    spring(progress(time, cues.strike + 0.15, cues.strike + 0.95)) * (1 - progress(time, 3.45, 3.6))
  const bulge =
    spring(progress(time, cues.net, cues.net + 0.5)) *
    (1 - progress(time, cues.net + 0.3, cues.net + 1.4) * 0.7) *
    (time > cues.net && time < 3.6 ? 1 : 0)
  return (
    rect(0, 0, WIDTH, HEIGHT, night) +
    rect(0, 0, WIDTH, 300, navy) +
    circle(318, 70, 120, dusk, 'opacity=".35"') +
    pylon(70) +
    pylon(320) +
    polygon(
      [
        [0, 226],
        [WIDTH, 226],
        [WIDTH, 336],
        [0, 336],
      ],
      '#182B57',
    ) +
    farCrowd +
    rect(0, 326, WIDTH, 16, coral) +
    text(195, 338, 'HARBOUR ROW · KEEP IT LIT · HARBOUR ROW · KEEP IT LIT', {
      size: 9,
      weight: 800,
      anchor: 'middle',
      fill: navy,
      spacing: 1,
    }) +
    rect(0, 342, WIDTH, 400, turf) +
    times(5, (index) =>
      polygon(
        [
          [index * 110 - 60, 342],
          [index * 110 - 10, 342],
          [index * 150 - 150, 640],
          [index * 150 - 260, 640],
        ],
        turfDark,
      ),
    ) +
    line('M0,392 H390', white, 2, 'opacity=".5"') +
    line('M0,480 H390', white, 3.5) +
    beam(70, 60) +
    beam(320, -60) +
    striker(time) +
    keeper(dive) +
    (time < cues.net ? ball(time) + net(bulge) : net(bulge) + ball(time)) +
    fans.map((person) => fan(person, time)).join('') +
    shower(time) +
    score(time)
  )
}
