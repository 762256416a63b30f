import { outlined } from '../core/fonts.mjs'
import {
  chalk,
  flare,
  floodlight,
  mix,
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
  polygon,
  rect,
  ring,
  shape,
  times,
} from '../core/svg.mjs'
import { people } from '../portraits/people.mjs'
import { bust } from '../portraits/portrait.mjs'
import { football } from '../heroes/shapes.mjs'
import { logo } from './mark.mjs'

const line = (words, y) =>
  group(`translate(70 ${y})`, shape(outlined(words, { size: 82, tracking: -25 }).data, paper))
const fan = (slug) => bust(people.find((person) => person.slug === slug))

/** One step of the stand, with somebody or something before it. */
const step = (index, ground, figure) => {
  const [x, top] = [690 + index * 170, 390 - index * 130]
  return (
    clipped(
      `step-${index}`,
      `M${x},${top} h172 V630 h-172 Z`,
      rect(x, top, 172, 630, ground) + figure(x, top),
    ) + rect(x, top, 172, 10, mix(ground, chalk, 0.35))
  )
}

/** What a shared link shows: the mark, the promise, the stand. 1200 by 630. */
export function social() {
  const mown = times(7, (index) =>
    polygon(
      [
        [index * 200 - 260, 630],
        [index * 200 - 160, 630],
        [index * 200 + 20, 0],
        [index * 200 - 80, 0],
      ],
      mix(pitchDeep, pitch, 0.32),
    ),
  )
  const person = (slug, size) => (x, top) =>
    group(`translate(${x + 86} ${top + 262}) scale(${size}) translate(-384 -768)`, fan(slug)) +
    rect(x, top + 250, 172, 400, pitchDeep) +
    times(
      6,
      (row) =>
        rect(x + 22, top + 276 + row * 50, 54, 30, pitch, 8) +
        rect(x + 96, top + 276 + row * 50, 54, 30, pitch, 8),
    )
  return document(
    1200,
    630,
    rect(0, 0, 1200, 630, pitchDeep) +
      mown +
      ring(1200, 0, 420, mix(pitchDeep, pitchSoft, 0.4), 8) +
      circle(1200, 0, 150, mix(pitchDeep, floodlight, 0.9)) +
      step(0, flare, person('jonas-lindqvare', 0.34)) +
      step(1, floodlight, person('amara-nkwenti', 0.34)) +
      step(2, pitchSoft, person('luca-ferrantino', 0.34)) +
      group('translate(778 330) rotate(14)', football('social', 56)) +
      group('translate(70 70)', logo(paper).body) +
      line('The club’s own', 330) +
      line('short-form', 420) +
      line('fan platform.', 510) +
      rect(72, 556, 120, 10, floodlight),
  )
}
