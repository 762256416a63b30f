import { circle, group, line, polygon, rect, times } from '../core/svg.mjs'
import { coral, HEIGHT, navy, night, sand, text, turf, white, WIDTH } from './club.mjs'
import { mix } from '../core/palette.mjs'
import { between, progress, wave } from './motion.mjs'
import { cards, LENGTH } from './timeline.mjs'

const EYE = [195, 380]
const arch = (reach) => {
  const [half, up, down] = [240 * reach, 330 * reach, 330 * reach]
  return `M${EYE[0] - half},${EYE[1] + down} V${EYE[1] - up * 0.4} Q${EYE[0] - half},${EYE[1] - up} ${EYE[0] - half * 0.5},${EYE[1] - up} H${EYE[0] + half * 0.5} Q${EYE[0] + half},${EYE[1] - up} ${EYE[0] + half},${EYE[1] - up * 0.4} V${EYE[1] + down} Z`
}

function player(x, y, size, number, skin, time, phase) {
  const stride = wave(time, LENGTH, 16, phase)
  const bob = -Math.abs(wave(time, LENGTH, 16, phase)) * 3
  const leg = (side) =>
    line(`M${side * 9},34 L${side * 11 + stride * side * 3},${66 + stride * side * 7}`, skin, 13) +
    line(
      `M${side * 11 + stride * side * 3},${66 + stride * side * 7} v${22 - stride * side * 3}`,
      coral,
      14,
    )
  const arm = (side) =>
    line(`M${side * 27},-32 L${side * 35},${-2 + stride * side * 4} `, navy, 14) +
    line(
      `M${side * 35},${-2 + stride * side * 4} L${side * (33 - stride * side * 3)},${20 - stride * side * 4}`,
      skin,
      11,
    )
  return group(
    `translate(${x} ${y + bob * size}) scale(${size})`,
    `<ellipse cx="0" cy="98" rx="36" ry="7" fill="${night}" opacity=".35"/>` +
      leg(-1) +
      leg(1) +
      rect(-24, 8, 48, 34, sand, 8) +
      arm(-1) +
      arm(1) +
      `<path d="M-32,-36 Q-28,-48 -10,-50 H10 Q28,-48 32,-36 L25,16 H-25 Z" fill="${navy}"/><path d="M-29,-38 Q-26,-47 -10,-50 L-12,-40 Z M29,-38 Q26,-47 10,-50 L12,-40 Z" fill="${coral}"/>` +
      text(0, 6, number, {
        size: 36,
        weight: 800,
        anchor: 'middle',
        family: 'Bricolage',
        fill: sand,
      }) +
      rect(-8, -62, 16, 16, mix(skin, night, 0.2), 4) +
      circle(0, -74, 17, skin) +
      `<path d="M-18,-72 A18,19 0 0 1 18,-72 Q14,-64 0,-62 Q-14,-64 -18,-72 Z" fill="${night}"/>`,
  )
}

/** The tunnel itself: its arches, the light at its end, the floor and the club's stripe on the walls. */
function hall() {
  const rings = times(7, (index) => {
    const reach = 2 * 0.72 ** index
    return `<path d="${arch(reach)}" fill="${mix(night, index % 2 ? '#1A2F60' : '#22407E', 0.35 + index * 0.09)}"/>`
  })
  const light =
    `<path d="${arch(0.26)}" fill="${mix(sand, white, 0.45)}"/>` +
    rect(EYE[0] - 60, EYE[1] + 34, 120, 52, turf) +
    line(`M${EYE[0] - 60},${EYE[1] + 40} h120`, white, 3) +
    times(24, (index) =>
      circle(
        EYE[0] - 54 + (index % 12) * 10,
        EYE[1] + 12 + Math.floor(index / 12) * 9,
        3.4,
        index % 3 ? coral : navy,
      ),
    )
  const floor =
    polygon(
      [
        [EYE[0] - 62, 466],
        [EYE[0] + 62, 466],
        [520, HEIGHT],
        [-130, HEIGHT],
      ],
      '#172A57',
    ) +
    polygon(
      [
        [EYE[0] - 22, 466],
        [EYE[0] + 22, 466],
        [310, HEIGHT],
        [80, HEIGHT],
      ],
      mix(sand, navy, 0.22),
    )
  const stripe = (side) =>
    polygon(
      [
        [EYE[0] + side * 62, 398],
        [EYE[0] + side * 62, 410],
        [EYE[0] + side * 330, 566],
        [EYE[0] + side * 330, 506],
      ],
      coral,
    )
  return rings + floor + light + stripe(-1) + stripe(1)
}

/** Beams that fall in from the open end. */
const beams = (time) =>
  times(7, (index) =>
    polygon(
      [
        [EYE[0] - 40 + index * 13, 320],
        [EYE[0] - 33 + index * 13, 320],
        [EYE[0] - 33 + (index - 3) * 150, -40],
        [EYE[0] - 73 + (index - 3) * 150, -40],
      ],
      sand,
      `opacity="${(0.05 + 0.03 * wave(time, LENGTH, 2, index)).toFixed(3)}"`,
    ),
  )

/** The walk out of the tunnel into the light. */
export function tunnel(time) {
  const walk = time - cards[3].from
  const zoom = 1 + progress(walk, -0.6, 4.7) * 0.12
  const step = between(0, -18, progress(walk, -0.6, 4.7))
  return (
    rect(0, 0, WIDTH, HEIGHT, night) +
    group(
      `translate(${EYE[0]} ${EYE[1]}) scale(${zoom.toFixed(4)}) translate(${-EYE[0]} ${-EYE[1]})`,
      hall() +
        beams(time) +
        player(168, 452 + step * 0.3, 0.52, '4', '#A86F4A', time, 0.4) +
        player(230, 458 + step * 0.3, 0.55, '17', '#E2B48C', time, 2.1) +
        player(122, 500 + step * 0.6, 0.9, '6', '#E2B48C', time, 1.2) +
        player(276, 512 + step * 0.6, 0.98, '11', '#5E3A26', time, 2.9) +
        player(196, 600 + step, 1.6, '9', '#5E3A26', time, 0),
    )
  )
}
