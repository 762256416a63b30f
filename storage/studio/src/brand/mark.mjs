import { floodlight, ink, pitch, chalk } from '../core/palette.mjs'
import { outlined } from '../core/fonts.mjs'
import { document, group, rect, round } from '../core/svg.mjs'

/** The three steps of the stand in a square of 64 units, the top one in the colour of the floodlights. */
export const steps = (step = chalk, light = floodlight) =>
  rect(10, 41, 26, 11, step, 2.5) +
  rect(19, 26.5, 26, 11, step, 2.5) +
  rect(28, 12, 26, 11, light, 2.5)

/** The mark in a square of 64 units. */
export const mark = (ground = pitch) => rect(0, 0, 64, 64, ground, 14) + steps()

/** The mark as a document. */
export const markDocument = () => document(64, 64, mark())

/** The mark for 16 pixels: four units are a pixel here, and every edge lies on one. */
export const tinyDocument = () =>
  document(
    64,
    64,
    rect(0, 0, 64, 64, pitch, 12) +
      rect(12, 40, 24, 12, chalk) +
      rect(20, 24, 24, 12, chalk) +
      rect(28, 8, 24, 12, floodlight),
  )

/** The mark for a mask: the ground fills the square, the steps stay inside the safe circle. */
export const maskableDocument = () =>
  document(
    64,
    64,
    rect(0, 0, 64, 64, pitch) + group('translate(32 32) scale(.8) translate(-32 -32)', steps()),
  )

/** The mark without rounded corners, for systems that cut the corners themselves. */
export const fullBleedDocument = () => document(64, 64, rect(0, 0, 64, 64, pitch) + steps())

/** The word in outlines; `height` is the size of an em. Returns the path and its width. */
function word(height, colour = ink) {
  const { data, width } = outlined('Terrace', { size: height, tracking: -22 })
  return { path: `<path d="${data}" fill="${colour}"/>`, width }
}

/** Mark and word side by side, 64 units high. */
export function logo(colour = ink) {
  const { path, width } = word(54, colour)
  return { body: mark() + group('translate(80 50)', path), width: round(80 + width) }
}

/** The logo as a document. */
export const logoDocument = () => {
  const { body, width } = logo()
  return document(Math.ceil(width), 64, `<title>Terrace</title>${body}`)
}
