import { mix } from '../core/palette.mjs'
import { circle, line, shape, times } from '../core/svg.mjs'
import { CENTRE } from './head.mjs'

const c = CENTRE
const strands = (paths, colour, width = 5) =>
  paths.map((data) => line(data, colour, width, 'opacity=".7"')).join('')

/** Long straight hair with a middle parting, in front of the shoulders. */
function straight(tone) {
  const curtain = (s) =>
    shape(
      `M${c},150 C${c + s * 60},130 ${c + s * 128},180 ${c + s * 134},290 C${c + s * 138},400 ${c + s * 150},520 ${c + s * 156},664 C${c + s * 130},684 ${c + s * 96},680 ${c + s * 74},660
    C${c + s * 96},560 ${c + s * 110},440 ${c + s * 104},340 C${c + s * 102},280 ${c + s * 70},230 ${c},184 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c + s * 24},166 C${c + s * 84},180 ${c + s * 116},240 ${c + s * 118},320 C${c + s * 122},420 ${c + s * 126},540 ${c + s * 128},650`,
        `M${c + s * 40},156 C${c + s * 104},180 ${c + s * 128},250 ${c + s * 130},360`,
      ],
      tone.light,
    )
  return {
    back: shape(
      `M${c - 136},640 C${c - 130},400 ${c - 150},150 ${c},142 C${c + 150},150 ${c + 130},400 ${c + 136},640 Z`,
      tone.deep,
    ),
    front: curtain(-1) + curtain(1),
  }
}

/** A chin-length bob with a straight fringe. */
const bob = (tone) => ({
  back: shape(
    `M${c - 138},462 C${c - 146},300 ${c - 140},142 ${c},138 C${c + 140},142 ${c + 146},300 ${c + 138},462 C${c + 100},486 ${c - 100},486 ${c - 138},462 Z`,
    tone.deep,
  ),
  front:
    shape(
      `M${c - 140},458 C${c - 150},300 ${c - 140},140 ${c},136 C${c + 140},140 ${c + 150},300 ${c + 140},458 C${c + 124},476 ${c + 102},474 ${c + 88},462 C${c + 104},410 ${c + 108},350 ${c + 100},278
    C${c + 60},270 ${c - 60},270 ${c - 100},278 C${c - 108},350 ${c - 104},410 ${c - 88},462 C${c - 102},474 ${c - 124},476 ${c - 140},458 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 96},230 C${c - 70},204 ${c - 36},192 ${c},190`,
        `M${c - 118},300 C${c - 116},250 ${c - 100},216 ${c - 70},192`,
        `M${c - 124},420 C${c - 126},380 ${c - 126},350 ${c - 122},320`,
        `M${c + 40},194 C${c + 70},202 ${c + 92},218 ${c + 104},244`,
      ],
      tone.light,
      7,
    ) +
    times(8, (index) =>
      line(
        `M${c - 78 + index * 22},272 l${(index - 3.5) * 0.8},-20`,
        tone.deep,
        3.5,
        'opacity=".8"',
      ),
    ),
})

/** Box braids that are tied back, one bundle in front of the shoulder. */
function braids(tone, tie) {
  const rows = times(9, (index) => {
    const x = c - 92 + index * 23
    return line(
      `M${x},${250 - Math.sin((index / 8) * Math.PI) * 38} C${x * 0.7 + c * 0.3},200 ${c + (index - 4) * 6},176 ${c + (index - 4) * 5},146`,
      index % 2 ? tone.deep : tone.light,
      3.5,
      'opacity=".9"',
    )
  })
  const strand = (index) => {
    const x = c + 100 + index * 15
    const data = `M${c + 102 + index * 9},452 C${x + 30},520 ${x + 32},590 ${x + 4},${700 + (index % 2) * 22}`
    return (
      line(data, index % 2 ? tone.base : mix(tone.base, tone.light, 0.28), 18) +
      line(data, tone.light, 5, 'stroke-dasharray="1 13"') +
      circle(x + 4, 706 + (index % 2) * 22, 8, tie)
    )
  }
  return {
    back:
      shape(
        `M${c + 40},180 C${c + 150},190 ${c + 178},330 ${c + 150},464 L${c + 90},464 L${c + 60},430 Z`,
        tone.deep,
      ) + circle(c + 70, 166, 40, tone.base),
    front:
      shape(
        `M${c - 109},316 C${c - 122},230 ${c - 96},146 ${c},142 C${c + 96},146 ${c + 122},230 ${c + 109},316 L${c + 101},312 C${c + 98},272 ${c + 78},226 ${c},216 C${c - 78},226 ${c - 98},272 ${c - 101},312 Z`,
        tone.base,
      ) + rows,
    over:
      times(5, strand) +
      line(`M${c + 98},462 C${c + 112},452 ${c + 132},452 ${c + 146},464`, tie, 16),
  }
}

/** Shoulder-length hair with a side parting and a soft wave. */
const lob = (tone) => ({
  back: shape(
    `M${c - 150},560 C${c - 176},440 ${c - 160},140 ${c},134 C${c + 160},140 ${c + 176},440 ${c + 150},560 C${c + 90},590 ${c - 90},590 ${c - 150},560 Z`,
    tone.deep,
  ),
  front:
    shape(
      `M${c - 46},148 C${c - 124},160 ${c - 142},250 ${c - 138},330 C${c - 136},400 ${c - 168},440 ${c - 158},540 C${c - 142},584 ${c - 96},580 ${c - 84},560 C${c - 106},520 ${c - 92},450 ${c - 102},390 C${c - 112},320 ${c - 96},250 ${c - 46},190 Z`,
      tone.base,
    ) +
    shape(
      `M${c - 60},172 C${c - 20},122 ${c + 92},124 ${c + 126},206 C${c + 150},270 ${c + 134},340 ${c + 142},400 C${c + 148},450 ${c + 170},480 ${c + 158},548 C${c + 142},586 ${c + 100},582 ${c + 84},560 C${c + 108},520 ${c + 92},440 ${c + 104},384
      C${c + 110},330 ${c + 104},280 ${c + 84},256 C${c + 30},260 ${c - 30},236 ${c - 60},172 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 40},166 C${c + 20},150 ${c + 84},172 ${c + 108},236 C${c + 124},290 ${c + 118},350 ${c + 122},400`,
        `M${c - 34},190 C${c + 10},216 ${c + 70},214 ${c + 98},250`,
        `M${c + 128},430 C${c + 134},470 ${c + 146},500 ${c + 134},548`,
        `M${c - 66},190 C${c - 112},230 ${c - 122},300 ${c - 118},370 C${c - 116},430 ${c - 144},470 ${c - 136},536`,
      ],
      tone.light,
      6,
    ),
})

/** Hair drawn up into a round, high puff. */
function puff(tone) {
  const edge = times(15, (index) => {
    const angle = (index / 15) * Math.PI * 2
    return circle(c + Math.cos(angle) * 78, 98 + Math.sin(angle) * 64, 25, tone.base)
  })
  const coils = times(16, (index) => {
    const angle = (index / 16) * Math.PI * 2
    const far = index % 2 ? 62 : 34
    return line(
      `M${c + Math.cos(angle) * far - 9},${96 + Math.sin(angle) * far * 0.84} a10,10 0 0 1 17,-6`,
      tone.light,
      4.5,
    )
  })
  return {
    back: edge + circle(c, 98, 76, tone.base) + coils,
    front:
      shape(
        `M${c - 109},320 C${c - 120},240 ${c - 98},160 ${c - 30},146 L${c + 30},146 C${c + 98},160 ${c + 120},240 ${c + 109},320 L${c + 102},300 C${c + 94},250 ${c + 66},222 ${c},218 C${c - 66},222 ${c - 94},250 ${c - 102},300 Z`,
        tone.base,
      ) +
      strands(
        [
          `M${c - 70},238 C${c - 54},206 ${c - 34},180 ${c - 20},156`,
          `M${c - 24},218 C${c - 18},196 ${c - 10},176 ${c - 6},156`,
          `M${c + 24},218 C${c + 18},196 ${c + 10},176 ${c + 6},156`,
          `M${c + 70},238 C${c + 54},206 ${c + 34},180 ${c + 20},156`,
          `M${c - 98},276 C${c - 92},232 ${c - 70},190 ${c - 42},162`,
          `M${c + 98},276 C${c + 92},232 ${c + 70},190 ${c + 42},162`,
        ],
        tone.light,
        4,
      ) +
      line(`M${c - 44},152 C${c - 20},142 ${c + 20},142 ${c + 44},152`, tone.deep, 11),
  }
}

/** Shoulder-length locs, a few of them in `streak`. */
function locs(tone, streak) {
  const lock = (s, index) => {
    const start = c + s * (index * 9 - 14)
    const bend = c + s * (92 + index * 11)
    const data = `M${start},${156 + index * 3} C${c + s * (60 + index * 13)},${170 + index * 9} ${bend},${280 + index * 12} ${bend + s * 4},${400 + index * 10} S${bend + s * 14},${520 + index * 6} ${bend + s * (index % 2 ? 0 : 12)},${576 + (index % 3) * 20}`
    const colour =
      s < 0 && (index === 1 || index === 2)
        ? streak
        : index % 2
          ? tone.base
          : mix(tone.base, tone.light, 0.35)
    return (
      line(data, colour, 24) +
      line(data, mix(colour, tone.deep, 0.55), 4, 'stroke-dasharray="2 20" opacity=".8"')
    )
  }
  return {
    back: shape(
      `M${c - 140},560 C${c - 160},420 ${c - 150},142 ${c},138 C${c + 150},142 ${c + 160},420 ${c + 140},560 Z`,
      tone.deep,
    ),
    front:
      shape(
        `M${c - 112},300 C${c - 120},200 ${c - 70},146 ${c},144 C${c + 70},146 ${c + 120},200 ${c + 112},300 C${c + 96},240 ${c + 60},206 ${c - 14},190 C${c - 66},206 ${c - 98},240 ${c - 112},300 Z`,
        tone.base,
      ) +
      times(5, (index) => lock(1, 4 - index)) +
      times(5, (index) => lock(-1, 4 - index)),
  }
}

export const longHair = { straight, bob, braids, lob, puff, locs }
