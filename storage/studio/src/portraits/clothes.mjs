import { chalk, ink, mix } from '../core/palette.mjs'
import { circle, clipped, line, polygon, rect, shape, times } from '../core/svg.mjs'
import { CENTRE } from './head.mjs'

const c = CENTRE

/** Both shoulders down to the picture's edge; `neckline` is path data that runs from the left of the neck to its right. */
const torso = (
  half,
  neckline,
) => `M${c - half},790 C${c - half + 6},690 ${c - half + 50},640 ${c - 170},606 C${c - 120},588 ${c - 78},580 ${c - 66},556
  ${neckline} C${c + 78},580 ${c + 120},588 ${c + 170},606 C${c + half - 50},640 ${c + half - 6},690 ${c + half},790 Z`
const closed = `L${c + 66},556`
const scooped = (depth) => `C${c - 54},${depth} ${c + 54},${depth} ${c + 66},556`
const pointed = (depth) => `L${c},${depth} L${c + 66},556`

/** The far side of every garment lies in shade, as the face does. */
const shaded = (id, data, fill, inside = '') => {
  const shade = `M${c + 96},520 C${c + 70},600 ${c + 120},660 ${c + 92},800 L820,800 L820,520 Z`
  return shape(data, fill) + clipped(id, data, inside + shape(shade, ink, 'opacity=".16"'))
}

const sleeves = (half, colour) =>
  line(
    `M${c - half + 96},790 C${c - half + 92},740 ${c - half + 98},710 ${c - half + 112},690`,
    colour,
    4,
  ) +
  line(
    `M${c + half - 96},790 C${c + half - 92},740 ${c + half - 98},710 ${c + half - 112},690`,
    colour,
    4,
  )

const lapels = (colour, line1) => {
  const side = (s) =>
    polygon(
      [
        [c + s * 70, 552],
        [c + s * 112, 584],
        [c + s * 132, 650],
        [c + s * 104, 660],
        [c + s * 116, 682],
        [c + s * 14, 800],
        [c, 800],
        [c + s * 6, 770],
        [c + s * 58, 600],
      ],
      colour,
    ) +
    line(
      `M${c + s * 132},650 L${c + s * 104},660 L${c + s * 116},682 L${c + s * 14},800`,
      line1,
      3.5,
    )
  return side(-1) + side(1)
}

/** How far a shirt is open under a jacket. */
const collars = { crew: scooped(606), open: pointed(660), closed: pointed(600) }

const garments = {
  blazer(id, { half, colour, under, collar }) {
    const edge = mix(colour, ink, 0.35)
    const shirt =
      shape(torso(half - 40, collars[collar]), under) +
      (collar === 'crew' ? line(`M${c - 66},556 ${scooped(606)}`, mix(under, ink, 0.14), 7) : '')
    const opening = `M${c - half},790 C${c - half + 6},690 ${c - half + 50},640 ${c - 170},606 C${c - 120},588 ${c - 78},580 ${c - 70},552 L${c - 52},610 L${c - 4},800 L${c + 4},800 L${c + 52},610 L${c + 70},552 C${c + 78},580 ${c + 120},588 ${c + 170},606 C${c + half - 50},640 ${c + half - 6},690 ${c + half},790 L${c + half},800 L${c - half},800 Z`
    return (
      shirt +
      shaded(`cloth-${id}`, opening, colour, sleeves(half, edge)) +
      lapels(mix(colour, chalk, 0.08), edge)
    )
  },
  suit(id, look) {
    const tip = (s) =>
      polygon(
        [
          [c + s * 62, 538],
          [c + s * 76, 566],
          [c + s * 50, 624],
          [c, 588],
        ],
        look.under,
      ) + line(`M${c + s * 76},566 L${c + s * 50},624 L${c},588`, mix(look.under, ink, 0.22), 3.5)
    const tie = look.tie
      ? polygon(
          [
            [c - 17, 590],
            [c + 17, 590],
            [c + 12, 624],
            [c - 12, 624],
          ],
          mix(look.tie, ink, 0.18),
        ) +
        clipped(
          `tie-${id}`,
          `M${c - 12},624 H${c + 12} L${c + 28},800 H${c - 28} Z`,
          rect(c - 40, 620, 80, 190, look.tie) +
            times(4, (index) =>
              line(
                `M${c - 34},${682 + index * 40} L${c + 34},${644 + index * 40}`,
                mix(look.tie, chalk, 0.35),
                6,
              ),
            ),
        )
      : ''
    const jacket = garments.blazer(id, { ...look, collar: look.tie ? 'closed' : 'open' })
    return jacket + tie + tip(-1) + tip(1)
  },
  crew(id, { half, colour, trim, stripes }) {
    const bands = stripes ? times(5, (index) => rect(0, 650 + index * 44, 768, 20, stripes)) : ''
    const neck = `M${c - 74},556 C${c - 60},628 ${c + 60},628 ${c + 74},556`
    const data = torso(half, scooped(612))
    return (
      shaded(`cloth-${id}`, data, colour, bands + sleeves(half, mix(colour, ink, 0.3))) +
      line(neck, trim, 17)
    )
  },
  roll(id, { half, colour }) {
    const edge = mix(colour, ink, 0.22)
    const tube = `M${c - 72},500 C${c - 40},520 ${c + 40},520 ${c + 72},500 L${c + 82},566 C${c + 60},606 ${c - 60},606 ${c - 82},566 Z`
    const ribs = times(9, (index) =>
      line(
        `M${c - 60 + index * 15},${526 + (4 - Math.abs(index - 4)) * 2} L${c - 64 + index * 16},${582 + (4 - Math.abs(index - 4)) * 4}`,
        edge,
        2.5,
        'opacity=".6"',
      ),
    )
    return (
      shaded(`cloth-${id}`, torso(half, closed), colour, sleeves(half, edge)) +
      shaded(`tube-${id}`, tube, mix(colour, chalk, 0.07), ribs) +
      line(`M${c - 82},566 C${c - 60},606 ${c + 60},606 ${c + 82},566`, edge, 3.5)
    )
  },
  hoodie(id, { half, colour, under }) {
    const edge = mix(colour, ink, 0.28)
    const hood = `M${c - 84},520 C${c - 160},560 ${c - 170},610 ${c - 140},650 C${c - 80},690 ${c - 30},690 ${c},676 C${c + 30},690 ${c + 80},690 ${c + 140},650 C${c + 170},610 ${c + 160},560 ${c + 84},520 C${c + 80},580 ${c + 40},630 ${c},634 C${c - 40},630 ${c - 80},580 ${c - 84},520 Z`
    const cord = (s) =>
      line(`M${c + s * 44},664 C${c + s * 50},700 ${c + s * 42},730 ${c + s * 46},756`, under, 6) +
      rect(c + s * 46 - 5, 752, 10, 20, under, 3)
    return (
      shape(torso(half - 40, scooped(596)), under) +
      shaded(`cloth-${id}`, torso(half, pointed(660)), colour, sleeves(half, edge)) +
      shaded(
        `hood-${id}`,
        hood,
        mix(colour, chalk, 0.08),
        line(
          `M${c - 110},560 C${c - 110},620 ${c - 60},654 ${c},656 C${c + 60},654 ${c + 110},620 ${c + 110},560`,
          edge,
          3,
          'opacity=".6"',
        ),
      ) +
      cord(-1) +
      cord(1)
    )
  },
  track(id, { half, colour, trim, under }) {
    const stripe = (s) =>
      line(
        `M${c + s * 116},580 C${c + s * 200},610 ${c + s * (half - 34)},660 ${c + s * (half - 24)},800`,
        trim,
        13,
      ) +
      line(
        `M${c + s * 92},584 C${c + s * 170},618 ${c + s * (half - 68)},664 ${c + s * (half - 58)},800`,
        trim,
        5,
      )
    const stand = (s) =>
      shape(
        `M${c + s * 74},518 L${c + s * 92},572 C${c + s * 70},612 ${c + s * 40},640 ${c},664 L${c},634 C${c + s * 30},612 ${c + s * 58},576 ${c + s * 74},518 Z`,
        mix(colour, chalk, 0.1),
      )
    return (
      shape(torso(half - 40, scooped(596)), under) +
      shaded(`cloth-${id}`, torso(half, pointed(650)), colour, stripe(-1) + stripe(1)) +
      stand(-1) +
      stand(1) +
      line(`M${c},652 L${c},800`, trim, 6) +
      rect(c - 6, 690, 12, 26, trim, 4)
    )
  },
  overshirt(id, { half, colour, under }) {
    const edge = mix(colour, ink, 0.3)
    const tee = shape(torso(half - 40, scooped(606)), under)
    const open = `M${c - half},800 L${c - half},790 C${c - half + 6},690 ${c - half + 50},640 ${c - 170},606 C${c - 120},588 ${c - 84},580 ${c - 74},552 L${c - 64},640 L${c - 44},800 Z M${c + half},800 L${c + half},790 C${c + half - 6},690 ${c + half - 50},640 ${c + 170},606 C${c + 120},588 ${c + 84},580 ${c + 74},552 L${c + 64},640 L${c + 44},800 Z`
    const tip = (s) =>
      polygon(
        [
          [c + s * 72, 534],
          [c + s * 106, 584],
          [c + s * 96, 654],
          [c + s * 58, 622],
        ],
        mix(colour, chalk, 0.1),
      ) + line(`M${c + s * 106},584 L${c + s * 96},654 L${c + s * 58},622`, edge, 3.5)
    const pocket =
      rect(c + 92, 704, 84, 110, 'none', 6, `stroke="${edge}" stroke-width="3.5"`) +
      line(`M${c + 92},728 h84`, edge, 3.5)
    return (
      tee +
      line(`M${c - 66},560 C${c - 46},612 ${c + 46},612 ${c + 66},560`, mix(under, ink, 0.12), 8) +
      shaded(`cloth-${id}`, open, colour, sleeves(half, edge) + pocket) +
      tip(-1) +
      tip(1) +
      times(2, (index) => circle(c - 74 + index * 6, 690 + index * 60, 5, mix(colour, chalk, 0.45)))
    )
  },
  wrap(id, { half, colour, trim, skin }) {
    const edge = mix(colour, ink, 0.25)
    const data = torso(half, closed)
    const chest =
      polygon(
        [
          [c - 66, 552],
          [c + 66, 552],
          [c + 8, 700],
        ],
        skin.base,
      ) +
      polygon(
        [
          [c + 14, 552],
          [c + 66, 552],
          [c + 8, 700],
        ],
        skin.shade,
      )
    return (
      shaded(`cloth-${id}`, data, colour, sleeves(half, edge)) +
      chest +
      line(`M${c - 68},552 L${c + 24},740 L${c + 44},800`, trim, 13) +
      line(`M${c + 68},552 L${c + 12},690`, trim, 13)
    )
  },
}

/** The garment `look.kind` on shoulders of half width `look.half`. */
export const clothes = (id, look) => garments[look.kind](id, look)
