import { chalk, ink, mix } from '../core/palette.mjs'
import { circle, document, group } from '../core/svg.mjs'
import { backdrops } from './backdrops.mjs'
import { clothes } from './clothes.mjs'
import { beard, features, glasses, mouth } from './features.mjs'
import { longHair } from './hair-long.mjs'
import { shortHair } from './hair-short.mjs'
import { CENTRE, ears, face, neck } from './head.mjs'
import { skins } from './tones.mjs'

const styles = { ...shortHair, ...longHair }

function jewellery({ earrings, statement, turn }) {
  if (!earrings) return ''
  const one = (side) => {
    const x = CENTRE + side * (116 - Math.max(0, side * turn) * 12)
    return statement
      ? circle(x, 386, 13, mix(earrings, ink, 0.25)) +
          circle(x, 424, 31, earrings) +
          circle(x, 424, 12, mix(earrings, ink, 0.75))
      : circle(x, 368, 8, earrings) + circle(x - 2, 365, 2.5, chalk)
  }
  return one(-1) + one(1)
}

/** Head and shoulders of `person`, drawn for a square of 768 units, without a background. */
export function bust(person) {
  const { slug: id, tilt } = person
  const skin = skins[person.skin]
  const [style, tone, accent] = person.hair
  const hair = styles[style](tone, accent === 'skin' ? skin : accent)
  const turned = (body) => group(`translate(0 40) rotate(${tilt} ${CENTRE} 480)`, body)
  const head =
    ears(skin, person.turn) +
    face(id, person, skin) +
    features(id, person, skin, person.browColour ?? mix(tone.base, tone.deep, 0.4)) +
    beard(person, tone) +
    mouth(person, skin) +
    hair.front +
    jewellery(person) +
    glasses(person)
  return (
    turned(hair.back) +
    neck(id, person, skin) +
    clothes(id, { ...person.wears, skin }) +
    turned(head) +
    (hair.over ?? '')
  )
}

/** One person before a backdrop, as a square SVG document of 768 units. */
export function portrait(person) {
  const [scene, ground, figure] = person.backdrop
  const { drop = 0, zoom = 1.2 } = person
  return document(
    768,
    768,
    backdrops[scene](ground, figure) +
      group(
        `translate(0 ${drop + 34}) translate(384 768) scale(${zoom}) translate(-384 -768)`,
        bust(person),
      ),
  )
}
