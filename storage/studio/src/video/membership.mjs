import { circle, group, line, polygon, rect, ring, shape, times } from '../core/svg.mjs'
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
import { between, easeInOut, easeOut, progress, pulse, spring } from './motion.mjs'
import { cues } from './timeline.mjs'

const code = times(26, (index) =>
  rect(index * 5.2, 0, [2, 3.4, 1.4, 2.6][(index * 7) % 4], 30, navy),
)

function memberCard(time, points) {
  const filled = easeOut(progress(time, cues.tier, cues.tier + 0.8)) * (points / 1500)
  const glint = progress(time, cues.tier + 0.1, cues.tier + 1.1)
  return (
    `<clipPath id="card"><rect width="342" height="206" rx="22"/></clipPath><g clip-path="url(#card)">${rect(0, 0, 342, 206, navy)}
    ${ring(300, 30, 96, '#24407A', 22)}${ring(300, 30, 150, '#1D3567', 22)}${ring(300, 30, 204, '#1A2F5C', 22)}${rect(0, 160, 342, 46, coral)}
    ${polygon(
      [
        [glint * 520 - 150, -10],
        [glint * 520 - 90, -10],
        [glint * 520 - 170, 220],
        [glint * 520 - 230, 220],
      ],
      white,
      'opacity=".1"',
    )}</g>` +
    group('translate(38 42) scale(.92)', crest()) +
    text(68, 38, 'Gold Lantern', { size: 21, weight: 800, family: 'Bricolage', spacing: -0.2 }) +
    text(68, 57, 'Ines Marlow · a Rower since 2019', { size: 12.5, weight: 500, fill: '#C9D4EE' }) +
    text(22, 114, points.toLocaleString('en-GB'), {
      size: 38,
      weight: 800,
      family: 'Bricolage',
      fill: glow,
      spacing: -0.6,
    }) +
    text(126, 113, 'Lanterns', { size: 14, weight: 600, fill: sand }) +
    rect(22, 130, 298, 9, '#0B1736', 4.5) +
    rect(22, 130, Math.max(9, 298 * filled), 9, glow, 4.5) +
    text(22, 188, `${(1500 - points).toLocaleString('en-GB')} to Lighthouse`, {
      size: 13.5,
      weight: 800,
      fill: navy,
    }) +
    group('translate(186 168)', rect(-6, -4, 146, 38, sand, 6) + code)
  )
}

const things = {
  tea: () =>
    shape('M-13,-6 H9 V6 Q9,14 1,14 H-5 Q-13,14 -13,6 Z', coral) +
    line('M9,-3 q8,0 8,5 t-8,5', coral, 3.2) +
    line('M-7,-11 q-3,-4 0,-8 M2,-11 q-3,-4 0,-8', navy, 2.4),
  seat: () =>
    rect(-12, -16, 24, 18, navy, 4) +
    rect(-14, 3, 28, 8, coral, 3) +
    line('M-9,11 V17 M9,11 V17', navy, 3.2),
  shirt: () =>
    shape('M-7,-14 Q0,-8 7,-14 L18,-8 L13,2 L9,0 V16 H-9 V0 L-13,2 L-18,-8 Z', coral) +
    text(0, 9, '9', { size: 14, weight: 800, anchor: 'middle', family: 'Bricolage', fill: navy }),
}

function reward(y, thing, name, note, price, action) {
  return group(
    `translate(24 ${y})`,
    rect(0, 0, 342, 74, white, 18) +
      rect(12, 12, 50, 50, '#FBF3E0', 14) +
      group('translate(37 37)', things[thing]()) +
      text(76, 33, name, { size: 15, weight: 800, fill: navy }) +
      text(76, 53, note, { size: 12.5, weight: 500, fill: '#5A6785' }) +
      (action ??
        group(
          'translate(320 37)',
          text(0, 5.5, price, {
            size: 15,
            weight: 800,
            anchor: 'end',
            fill: navy,
            family: 'Bricolage',
          }) + group(`translate(${-price.length * 8 - 17} 0) scale(.5)`, lantern()),
        )),
  )
}

function redeemButton(time) {
  const done = time >= cues.redeemed
  const press = 1 - pulse(time, cues.redeem - 0.05, cues.redeemed + 0.1) * 0.08
  const settle = done
    ? 0.85 + spring(progress(time, cues.redeemed, cues.redeemed + 0.45)) * 0.15
    : 1
  return group(
    `translate(286 37) scale(${press * settle})`,
    rect(-44, -17, 88, 34, done ? navy : coral, 17) +
      (done
        ? line('M-9,0 L-3,6 L9,-6', glow, 3.4)
        : text(7, 5.4, '25', {
            size: 15,
            weight: 800,
            anchor: 'middle',
            fill: navy,
            family: 'Bricolage',
          }) + group('translate(-15 0) scale(.5)', lantern(navy))),
  )
}

/** The sheet with the fan's card and rewards; it comes up over the clip and goes down again. */
export function membership(time, points) {
  const up =
    easeOut(progress(time, cues.sheet, cues.sheet + 0.5)) -
    easeInOut(progress(time, cues.close, cues.close + 0.45))
  if (up <= 0) return ''
  const y = between(HEIGHT, 0, up)
  return (
    rect(0, 0, WIDTH, HEIGHT, night, 0, `opacity="${(up * 0.6).toFixed(3)}"`) +
    group(
      `translate(0 ${y.toFixed(2)})`,
      shape(`M0,146 Q0,118 28,118 H362 Q390,118 390,146 V${HEIGHT + 20} H0 Z`, sand) +
        rect(171, 128, 48, 5, navy, 2.5, 'opacity=".3"') +
        text(24, 174, 'Your season', {
          size: 25,
          weight: 800,
          fill: navy,
          family: 'Bricolage',
          spacing: -0.5,
        }) +
        circle(350, 165, 15, '#E5D3AE') +
        line('M345,160 l10,10 M355,160 l-10,10', navy, 2.4) +
        group('translate(24 196)', memberCard(time, points)) +
        text(24, 444, 'Spend your Lanterns', {
          size: 18,
          weight: 800,
          fill: navy,
          family: 'Bricolage',
          spacing: -0.2,
        }) +
        text(366, 444, 'See all', { size: 13, weight: 700, anchor: 'end', fill: '#B23A26' }) +
        reward(
          460,
          'tea',
          time >= cues.redeemed ? 'See you at half-time' : 'Half-time tea',
          time >= cues.redeemed ? 'Show your card, kiosk 4' : 'Any kiosk, this Saturday',
          '25',
          redeemButton(time),
        ) +
        reward(544, 'shirt', 'Okafor’s match shirt', 'Signed, one draw a month', '400') +
        reward(628, 'seat', 'Front row, Lantern End', 'Two seats, next home game', '900'),
    )
  )
}
