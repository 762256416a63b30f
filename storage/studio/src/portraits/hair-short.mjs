import { mix } from '../core/palette.mjs'
import { seeded } from '../core/random.mjs'
import { circle, line, shape, times } from '../core/svg.mjs'
import { CENTRE } from './head.mjs'

const c = CENTRE
const strands = (paths, colour, width = 4) =>
  paths.map((data) => line(data, colour, width, 'opacity=".75"')).join('')

/** A cloud of round curls: `rings` of [radius, count, size] from ear to ear around the skull. */
function cloud(tone, rings, seed, { from = 200, to = -20, middleY = 292 } = {}) {
  const random = seeded(seed)
  const marks = []
  const curls = rings
    .map(([radius, count, size]) =>
      times(count, (index) => {
        const angle = ((from + ((to - from) * index) / (count - 1)) * Math.PI) / 180
        const x = c + Math.cos(angle) * radius * random.between(0.98, 1.02)
        const y = middleY - Math.sin(angle) * radius * random.between(0.96, 1.02)
        const r = size * random.between(0.9, 1.14)
        marks.push([x, y, r * 0.5])
        return circle(x, y, r, tone.base)
      }),
    )
    .join('')
  const drawn = (colour, share, width) =>
    marks
      .filter(() => random.chance(share))
      .map(([x, y, r]) =>
        line(
          `M${x - r},${y} a${r},${r} 0 0 1 ${r * 1.7},${-r * 0.7}`,
          colour,
          width,
          'opacity=".9"',
        ),
      )
      .join('')
  return { curls, drawn }
}

/** Short natural curls with flecks of grey. */
function coils(tone, fleck) {
  const ball = cloud(
    tone,
    [
      [126, 15, 27],
      [106, 13, 27],
    ],
    7,
  )
  const fringe = times(9, (index) =>
    circle(c - 92 + index * 23, 240 - Math.sin((index / 8) * Math.PI) * 36, 22, tone.base),
  )
  const flecks = cloud(
    tone,
    [
      [124, 11, 22],
      [92, 7, 20],
    ],
    19,
    { from: 172, to: 8 },
  )
  return {
    back: ball.curls,
    front:
      fringe +
      shape(
        `M${c - 108},262 C${c - 100},190 ${c - 50},158 ${c},156 C${c + 50},158 ${c + 100},190 ${c + 108},262 C${c + 70},222 ${c - 70},222 ${c - 108},262 Z`,
        tone.base,
      ) +
      shape(
        `M${c - 112},318 C${c - 116},240 ${c - 70},190 ${c},186 C${c + 70},190 ${c + 116},240 ${c + 112},318 L${c + 101},318 C${c + 99},270 ${c + 80},236 ${c},224 C${c - 80},236 ${c - 99},270 ${c - 101},318 Z`,
        tone.base,
      ) +
      ball.drawn(tone.light, 0.7, 4.5) +
      flecks.drawn(fleck, 0.4, 4.5),
  }
}

/** Loose curls on top, close at the sides. */
function curly(tone) {
  const ball = cloud(
    tone,
    [
      [130, 10, 33],
      [104, 9, 33],
    ],
    23,
    { from: 165, to: 15 },
  )
  const fringe = times(6, (index) =>
    circle(
      c - 74 + index * 31,
      226 - (index % 2) * 12,
      27,
      index % 2 ? tone.base : mix(tone.base, tone.deep, 0.3),
    ),
  )
  const sides = shape(
    `M${c - 116},330 C${c - 124},260 ${c - 104},210 ${c - 70},200 L${c - 70},250 C${c - 96},262 ${c - 98},300 ${c - 99},336 Z M${c + 116},330 C${c + 124},260 ${c + 104},210 ${c + 70},200 L${c + 70},250 C${c + 96},262 ${c + 98},300 ${c + 99},336 Z`,
    tone.deep,
  )
  const curls = times(6, (index) =>
    line(`M${c - 84 + index * 31},${226 - (index % 2) * 12} a13,13 0 1 1 18,8`, tone.light, 4.5),
  )
  return {
    back: ball.curls,
    front: sides + ball.curls + fringe + curls + ball.drawn(tone.light, 0.8, 5),
  }
}

/** Hair swept back from the forehead. */
const swept = (tone) => ({
  back: '',
  front:
    shape(
      `M${c - 108},330 C${c - 126},250 ${c - 108},168 ${c - 40},142 C${c + 6},122 ${c + 76},128 ${c + 108},174 C${c + 132},212 ${c + 124},280 ${c + 108},330
    L${c + 100},326 C${c + 102},284 ${c + 92},252 ${c + 78},236 C${c + 40},208 ${c - 24},206 ${c - 62},232 C${c - 88},252 ${c - 100},286 ${c - 100},326 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 66},226 C${c - 44},180 ${c + 4},158 ${c + 50},160`,
        `M${c - 30},212 C${c - 6},182 ${c + 32},170 ${c + 74},180`,
        `M${c + 12},208 C${c + 36},190 ${c + 66},190 ${c + 92},208`,
        `M${c - 92},252 C${c - 92},208 ${c - 66},172 ${c - 34},158`,
      ],
      tone.light,
      5,
    ) +
    strands(
      [
        `M${c + 50},220 C${c + 74},214 ${c + 94},228 ${c + 104},254`,
        `M${c - 104},296 C${c - 108},262 ${c - 104},236 ${c - 94},216`,
      ],
      tone.deep,
      5,
    ),
})

/** A close crop that has drawn back a little at the temples. */
const crop = (tone) => ({
  back: '',
  front:
    shape(
      `M${c - 109},322 C${c - 120},240 ${c - 100},152 ${c},148 C${c + 100},152 ${c + 120},240 ${c + 109},322 L${c + 100},322 C${c + 100},290 ${c + 98},264 ${c + 86},248
    C${c + 66},250 ${c + 62},224 ${c + 44},218 C${c + 14},208 ${c - 18},210 ${c - 40},220 C${c - 60},226 ${c - 66},252 ${c - 84},252 C${c - 98},268 ${c - 100},292 ${c - 100},322 Z`,
      tone.base,
    ) +
    times(9, (index) =>
      line(
        `M${c - 76 + index * 19},${190 - Math.sin((index / 8) * Math.PI) * 18} l5,-15`,
        tone.light,
        4.5,
        'opacity=".85"',
      ),
    ) +
    times(7, (index) => line(`M${c - 50 + index * 17},206 l4,-13`, tone.deep, 4, 'opacity=".5"')) +
    strands(
      [
        `M${c - 104},306 C${c - 107},280 ${c - 102},262 ${c - 92},248`,
        `M${c + 104},306 C${c + 107},280 ${c + 102},262 ${c + 92},248`,
      ],
      tone.deep,
      5,
    ),
})

/** Short textured hair over the forehead; `temples` colours the sides. */
const textured = (tone, temples) => ({
  back: '',
  front:
    shape(
      `M${c - 110},326 C${c - 116},280 ${c - 112},240 ${c - 92},216 L${c - 60},236 C${c - 92},252 ${c - 98},286 ${c - 100},328 Z M${c + 110},326 C${c + 116},280 ${c + 112},240 ${c + 92},216 L${c + 60},236 C${c + 92},252 ${c + 98},286 ${c + 100},328 Z`,
      temples,
    ) +
    shape(
      `M${c - 108},262 C${c - 116},196 ${c - 84},140 ${c - 20},142 C${c - 4},126 ${c + 30},134 ${c + 44},142 C${c + 92},150 ${c + 116},200 ${c + 108},262 C${c + 98},240 ${c + 84},232 ${c + 70},228
      L${c + 54},240 L${c + 38},222 L${c + 18},238 L${c - 2},220 L${c - 24},238 L${c - 42},222 L${c - 62},240 C${c - 84},236 ${c - 100},246 ${c - 108},262 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 70},214 C${c - 62},190 ${c - 48},172 ${c - 28},164`,
        `M${c - 26},212 C${c - 18},190 ${c - 4},172 ${c + 16},164`,
        `M${c + 22},212 C${c + 30},194 ${c + 42},182 ${c + 60},176`,
        `M${c + 60},212 C${c + 68},202 ${c + 76},198 ${c + 86},198`,
      ],
      tone.light,
      5,
    ),
})

/** A fade: full on top, melting into the skin at the sides. */
const fade = (tone, skin) => ({
  back: '',
  front:
    shape(
      `M${c - 109},318 C${c - 114},270 ${c - 112},230 ${c - 96},200 L${c - 70},236 C${c - 94},256 ${c - 99},286 ${c - 100},320 Z M${c + 109},318 C${c + 114},270 ${c + 112},230 ${c + 96},200 L${c + 70},236 C${c + 94},256 ${c + 99},286 ${c + 100},320 Z`,
      mix(tone.base, skin.base, 0.45),
    ) +
    shape(
      `M${c - 108},268 C${c - 112},236 ${c - 106},210 ${c - 92},190 L${c - 66},232 C${c - 88},240 ${c - 98},252 ${c - 108},268 Z M${c + 108},268 C${c + 112},236 ${c + 106},210 ${c + 92},190 L${c + 66},232 C${c + 88},240 ${c + 98},252 ${c + 108},268 Z`,
      mix(tone.base, skin.base, 0.2),
    ) +
    shape(
      `M${c - 102},228 C${c - 104},160 ${c - 50},130 ${c},130 C${c + 54},130 ${c + 104},160 ${c + 102},228 C${c + 92},216 ${c + 82},214 ${c + 72},220 C${c + 40},214 ${c - 40},214 ${c - 72},220 C${c - 82},214 ${c - 92},216 ${c - 102},228 Z`,
      tone.base,
    ) +
    times(16, (index) =>
      line(
        `M${c - 76 + (index % 8) * 21 + (index > 7 ? 8 : 0)},${index > 7 ? 196 : 168 + Math.abs((index % 8) - 3.5) * 4} q6,-9 12,0`,
        tone.light,
        4,
        'opacity=".8"',
      ),
    ),
})

/** A pixie cut with a long fringe swept to one side. */
const pixie = (tone) => ({
  back: shape(
    `M${c - 112},350 C${c - 136},240 ${c - 96},146 ${c},142 C${c + 96},146 ${c + 136},240 ${c + 112},350 Z`,
    tone.deep,
  ),
  front:
    shape(
      `M${c - 112},352 C${c - 132},280 ${c - 126},196 ${c - 70},156 C${c - 10},116 ${c + 86},132 ${c + 114},196 C${c + 130},240 ${c + 122},306 ${c + 110},346
    C${c + 106},326 ${c + 104},300 ${c + 100},284 C${c + 92},262 ${c + 84},252 ${c + 76},236 C${c + 50},252 ${c - 10},262 ${c - 66},292 C${c - 60},276 ${c - 56},268 ${c - 48},260 C${c - 76},270 ${c - 96},296 ${c - 98},330 L${c - 106},356 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c + 72},220 C${c + 30},244 ${c - 20},246 ${c - 70},272`,
        `M${c + 60},190 C${c + 20},220 ${c - 40},224 ${c - 86},258`,
        `M${c + 20},164 C${c - 30},178 ${c - 76},206 ${c - 98},256`,
      ],
      tone.light,
      6,
    ) +
    strands(
      [
        `M${c + 84},186 C${c + 100},216 ${c + 106},250 ${c + 106},290`,
        `M${c + 66},206 C${c + 84},222 ${c + 96},244 ${c + 100},270`,
        `M${c + 46},206 C${c + 10},226 ${c - 40},234 ${c - 78},262`,
      ],
      tone.deep,
      4,
    ),
})

/** A side parting, combed over. */
const parted = (tone) => ({
  back: '',
  front:
    shape(
      `M${c - 109},326 C${c - 118},262 ${c - 112},214 ${c - 82},180 C${c - 60},142 ${c + 10},126 ${c + 60},144 C${c + 112},162 ${c + 124},240 ${c + 109},326 L${c + 100},324 C${c + 100},286 ${c + 96},262 ${c + 84},240
    C${c + 40},246 ${c - 20},232 ${c - 56},204 C${c - 66},226 ${c - 84},232 ${c - 92},256 C${c - 98},282 ${c - 100},304 ${c - 100},324 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 50},190 C${c - 16},170 ${c + 36},164 ${c + 80},196`,
        `M${c - 46},198 C${c - 4},190 ${c + 50},196 ${c + 90},226`,
        `M${c - 38},176 C${c - 8},150 ${c + 40},144 ${c + 72},164`,
      ],
      tone.light,
      5,
    ) +
    line(`M${c - 58},202 C${c - 66},184 ${c - 66},172 ${c - 58},162`, tone.deep, 5),
})

/** White hair brushed back from a high forehead. */
const elder = (tone) => ({
  back: shape(
    `M${c - 114},360 C${c - 134},260 ${c - 110},160 ${c},152 C${c + 110},160 ${c + 134},260 ${c + 114},360 Z`,
    tone.deep,
  ),
  front:
    shape(
      `M${c - 109},336 C${c - 134},280 ${c - 126},200 ${c - 84},168 C${c - 50},138 ${c + 46},134 ${c + 84},164 C${c + 128},198 ${c + 136},278 ${c + 109},336 L${c + 98},318 C${c + 100},284 ${c + 96},256 ${c + 80},238
    C${c + 74},216 ${c + 58},204 ${c + 30},202 C${c + 4},190 ${c - 24},196 ${c - 40},206 C${c - 66},214 ${c - 74},230 ${c - 80},240 C${c - 96},258 ${c - 100},286 ${c - 98},318 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 38},198 C${c - 16},174 ${c + 20},162 ${c + 52},166`,
        `M${c + 10},192 C${c + 32},182 ${c + 56},182 ${c + 78},194`,
        `M${c - 74},222 C${c - 66},196 ${c - 44},176 ${c - 18},166`,
        `M${c - 106},300 C${c - 114},266 ${c - 108},232 ${c - 92},206`,
        `M${c + 106},300 C${c + 114},266 ${c + 108},232 ${c + 94},206`,
      ],
      tone.deep,
      4.5,
    ),
})

/** Wavy hair with volume, falling over the ears. */
const waves = (tone) => ({
  back: shape(
    `M${c - 104},430 C${c - 150},400 ${c - 126},340 ${c - 138},290 C${c - 146},200 ${c - 80},128 ${c},132 C${c + 80},128 ${c + 146},200 ${c + 138},290 C${c + 126},340 ${c + 150},400 ${c + 104},430 Z`,
    tone.deep,
  ),
  front:
    shape(
      `M${c - 104},350 C${c - 130},326 ${c - 122},300 ${c - 130},270 C${c - 138},216 ${c - 104},180 ${c - 84},164 C${c - 60},128 ${c - 10},118 ${c + 26},128 C${c + 70},122 ${c + 112},160 ${c + 124},206 C${c + 140},240 ${c + 122},276 ${c + 126},300 C${c + 124},326 ${c + 116},344 ${c + 104},352
    C${c + 110},320 ${c + 94},300 ${c + 98},276 C${c + 86},264 ${c + 82},240 ${c + 62},232 C${c + 48},222 ${c + 32},236 ${c + 8},222 C${c - 12},208 ${c - 22},218 ${c - 36},226 C${c - 58},230 ${c - 62},250 ${c - 84},262 C${c - 98},282 ${c - 90},320 ${c - 104},350 Z`,
      tone.base,
    ) +
    strands(
      [
        `M${c - 84},246 C${c - 90},214 ${c - 62},206 ${c - 56},180 C${c - 50},164 ${c - 34},156 ${c - 16},154`,
        `M${c - 34},214 C${c - 30},188 ${c - 2},190 ${c + 8},170 C${c + 20},156 ${c + 40},156 ${c + 54},162`,
        `M${c + 24},216 C${c + 34},196 ${c + 58},206 ${c + 70},188`,
        `M${c + 72},226 C${c + 92},220 ${c + 96},236 ${c + 108},230`,
        `M${c - 108},300 C${c - 116},280 ${c - 100},270 ${c - 106},250`,
      ],
      tone.light,
      5,
    ),
})

export const shortHair = { coils, curly, swept, crop, textured, fade, pixie, parted, elder, waves }
