import { floodlight, ink, pitch, chalk } from '../core/palette.mjs'
import { outlined } from '../core/fonts.mjs'
import { document, group, rect, round } from '../core/svg.mjs'

/**
 * The three steps of the stand in a square of 64 units, the top one in the colour of the floodlights.
 * `top` is the upper edge of the highest step: 10 centres them, 8 puts every edge on the grid of a 16 pixel icon.
 */
export const steps = (step = chalk, light = floodlight, top = 10) =>
  rect(12, top + 32, 24, 12, step, 2) + rect(20, top + 16, 24, 12, step, 2) + rect(28, top, 24, 12, light, 2)

/** The mark in a square of 64 units. */
export const mark = (ground = pitch) => rect(0, 0, 64, 64, ground, 15) + steps()

/** The mark as a document. */
export const markDocument = () => document(64, 64, mark())

/** The mark for 16 pixels: square steps on whole pixels. */
export const tinyDocument = () => document(64, 64, rect(0, 0, 64, 64, pitch, 12) + steps(chalk, floodlight, 8).replaceAll('rx="2"', ''))

/** The mark for a mask: the ground fills the square, the steps stay inside the safe circle. */
export const maskableDocument = () => document(64, 64, rect(0, 0, 64, 64, pitch) + group('translate(32 32) scale(.8) translate(-32 -32)', steps()))

/** The mark without rounded corners, for systems that cut the corners themselves. */
export const fullBleedDocument = () => document(64, 64, rect(0, 0, 64, 64, pitch) + steps())

/** The word in outlines; `height` is the size of an em. Returns the path and its width. */
export function word(height, colour = ink) {
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
