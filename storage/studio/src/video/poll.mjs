import { circle, clipped, group, line, rect } from '../core/svg.mjs'
import { coral, glow, lantern, navy, text, white } from './club.mjs'
import { between, easeInOut, easeOut, progress, pulse, spring } from './motion.mjs'
import { cues, points } from './timeline.mjs'

const answers = [
  ['Okafor, off the left', 54],
  ['Lindgren, two up top', 29],
  ['Moreau, in the hole', 17],
]

/** One answer; once `voted`, its bar is `grown` (0 to 1) towards its share. */
function answer([label, share], index, { voted, grown, checked }) {
  const chosen = voted && index === 0
  const y = 76 + index * 52
  const result = () =>
    clipped(
      `answer-${index}`,
      `M12,${y} h248 q12,0 12,12 v20 q0,12 -12,12 h-248 q-12,0 -12,-12 v-20 q0,-12 12,-12 Z`,
      rect(0, y, (272 * share * grown) / 100, 44, chosen ? coral : '#D9CFB8'),
    ) +
    text(258, y + 28, `${Math.round(share * grown)}%`, {
      size: 16,
      weight: 800,
      fill: navy,
      anchor: 'end',
      family: 'Bricolage',
    })
  const choice = () =>
    rect(1, y + 1, 270, 42, 'none', 11, `stroke="${coral}" stroke-width="2"`) +
    group(
      `translate(24 ${y + 22}) scale(${checked})`,
      circle(0, 0, 10, navy) + line('M-4,0 L-1,3.2 L4.4,-3', white, 2.4),
    )
  return (
    rect(0, y, 272, 44, '#F1EADB', 12) +
    (voted ? result() : '') +
    (chosen ? choice() : '') +
    text(chosen ? 42 : 16, y + 27.5, label, { size: 15, weight: chosen ? 800 : 600, fill: navy })
  )
}

/** The question over the clip; after the vote its bars grow to the result. */
export function poll(time) {
  const rise = spring(progress(time, cues.poll, cues.poll + 0.6))
  const voted = time >= cues.vote
  const state = {
    voted,
    grown: easeOut(progress(time, cues.bars, cues.bars + 0.75)),
    checked: spring(progress(time, cues.vote, cues.vote + 0.4)),
  }
  const rows = answers.map((entry, index) => answer(entry, index, state)).join('')
  const votes = 8412 + (voted ? 1 : 0)
  return group(
    `translate(16 ${between(640, 474, rise)})`,
    rect(-2, 0, 306, 266, navy, 22, 'opacity=".25" transform="translate(0 6)"') +
      rect(-2, 0, 306, 266, white, 22) +
      group(
        'translate(14 0)',
        text(0, 31, 'GAFFER FOR A MINUTE', { size: 11, weight: 800, fill: '#C8452F', spacing: 1 }) +
          text(0, 57, 'Who starts on Saturday?', {
            size: 20,
            weight: 800,
            fill: navy,
            family: 'Bricolage',
            spacing: -0.3,
          }) +
          rows +
          text(0, 250, `${votes.toLocaleString('en-GB')} votes`, {
            size: 12.5,
            weight: 600,
            fill: '#5A6785',
          }) +
          text(272, 250, voted ? 'Thanks for voting' : `Vote for +${points.award}`, {
            size: 12.5,
            weight: 700,
            fill: '#5A6785',
            anchor: 'end',
          }),
      ),
  )
}

/** The points of the vote: a badge, then lanterns that fly into the counter. */
export function award(time) {
  if (time < cues.award || time > cues.landed + 0.4) return ''
  const pop = spring(progress(time, cues.award, cues.award + 0.45))
  const leave = progress(time, cues.landed - 0.1, cues.landed + 0.2)
  const badge = group(
    `translate(170 ${440 - leave * 20}) scale(${pop})`,
    `<g opacity="${1 - leave}">${rect(-88, -25, 176, 50, coral, 25)}${group('translate(-62 -1) scale(.92)', lantern(navy))}${text(12, 7, `+${points.award} Lanterns`, { size: 18.5, weight: 800, anchor: 'middle', family: 'Bricolage', fill: navy })}</g>`,
  )
  const flight = Array.from({ length: 5 }, (_, index) => {
    const share = easeInOut(
      progress(time, cues.award + 0.25 + index * 0.07, cues.landed - 0.28 + index * 0.07),
    )
    if (share <= 0 || share >= 1) return ''
    const x = between(108, 287, share) - Math.sin(share * Math.PI) * (70 - index * 24)
    const y = between(440, 78, share)
    return group(
      `translate(${x} ${y}) rotate(${(1 - share) * (index - 2) * 24}) scale(${between(1.15, 0.6, share)})`,
      circle(0, 0, 21, glow, 'opacity=".35"') + lantern(coral),
    )
  }).join('')
  return badge + flight
}

/** The fan's points at `time`: up with the vote, down again with the tea. */
export function balance(time) {
  const earned = progress(time, cues.landed - 0.25, cues.landed + 0.25)
  const spent = progress(time, cues.redeemed, cues.redeemed + 0.5)
  return points.start + Math.round(points.award * (earned - spent))
}

/** How much the counter swells while points arrive or leave. */
export const bump = (time) => pulse(time, cues.landed - 0.2, cues.landed + 0.55)
