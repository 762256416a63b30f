import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import * as fontkit from 'fontkit'

const require = createRequire(import.meta.url)
const DISPLAY =
  '@fontsource-variable/bricolage-grotesque/files/bricolage-grotesque-latin-wght-normal.woff2'
const OUTLINE = '@fontsource/bricolage-grotesque/files/bricolage-grotesque-latin-700-normal.woff'
const TEXT = '@fontsource-variable/hanken-grotesk/files/hanken-grotesk-latin-wght-normal.woff2'

const read = (name) => readFileSync(require.resolve(name))
const face = (family, name) =>
  `@font-face{font-family:'${family}';font-weight:200 900;src:url(data:font/woff2;base64,${read(name).toString('base64')}) format('woff2')}`

/** A style sheet that carries both faces, named "Bricolage" and "Hanken", inside itself. */
export const fontStyles = () => face('Bricolage', DISPLAY) + face('Hanken', TEXT)

/**
 * `text` as path data in the bold display face, its baseline at y 0.
 * `size` is in user units per em, `tracking` in thousandths of an em. Returns the data and the advance width.
 */
export function outlined(text, { size, tracking = 0 }) {
  const font = fontkit.create(read(OUTLINE))
  const scale = size / font.unitsPerEm
  let x = 0
  let data = ''
  const run = font.layout(text)
  run.glyphs.forEach((glyph, index) => {
    const move = (command) =>
      command.args.map((value, at) =>
        (at % 2 === 0 ? x + value * scale : -value * scale).toFixed(2),
      )
    const letters = {
      moveTo: 'M',
      lineTo: 'L',
      quadraticCurveTo: 'Q',
      bezierCurveTo: 'C',
      closePath: 'Z',
    }
    for (const command of glyph.path.commands)
      data += letters[command.command] + move(command).join(' ')
    x += (run.positions[index].xAdvance + (tracking * font.unitsPerEm) / 1000) * scale
  })
  return { data, width: x }
}
