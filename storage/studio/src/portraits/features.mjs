import { chalk, ink, mix } from '../core/palette.mjs'
import { seeded } from '../core/random.mjs'
import { circle, clipped, group, line, shape, times } from '../core/svg.mjs'
import { CENTRE, outline } from './head.mjs'

const middle = (turn) => CENTRE + turn * 20

function eye(id, side, person, skin) {
  const far = side * person.turn > 0
  const width = far ? 0.88 : 1
  const upper = 'M-23,4 C-14,-13 12,-15 23,0'
  const iris = mix(person.eyes, ink, 0.15)
  const lash = person.lashes ? line('M20,-3 C25,-5 28,-8 30,-12', ink, 5) : ''
  const ball = shape(`${upper} C12,12 -12,13 -23,4 Z`, mix(chalk, skin.shade, 0.12))
  const look = clipped(
    `eye-${id}-${side}`,
    `${upper} C12,12 -12,13 -23,4 Z`,
    circle(person.turn * side * 4, -1, 10.5, iris) +
      circle(person.turn * side * 4, -1, 5, ink) +
      circle(person.turn * side * 4 - 4, -4, 2.6, chalk),
  )
  const lid = line(upper, ink, person.lashes ? 6 : 5)
  const crease = line('M-20,-10 C-10,-21 10,-22 20,-12', skin.line, 3, 'opacity=".55"')
  const place = middle(person.turn) + side * (far ? 45 : 52)
  return group(
    `translate(${place} 326) scale(${side * width} 1)`,
    ball + look + lid + lash + crease,
  )
}

function brow(side, person, colour) {
  const far = side * person.turn > 0
  const heavy = person.brows
  const place = middle(person.turn) + side * (far ? 45 : 53)
  const data = `M-31,${-heavy * 0.45} C-14,-10 8,-15 34,0 C12,${heavy * 0.4 - 8} -10,${heavy * 0.7 - 4} -29,${heavy * 0.65} C-34,${heavy * 0.5} -35,${-heavy * 0.3} -31,${-heavy * 0.45} Z`
  return group(
    `translate(${place} ${290 - person.lift * 4}) scale(${(far ? 0.9 : 1) * side} 1)`,
    shape(data, colour),
  )
}

function nose(person, skin) {
  const n = middle(person.turn)
  const s = person.turn >= 0 ? 1 : -1
  const w = person.nose
  const side = s > 0 ? skin.shade : mix(skin.base, skin.shade, 0.55)
  return (
    shape(
      `M${n + s * 4},304 C${n + s * 8},336 ${n + s * 22},352 ${n + s * (w + 6)},372 C${n + s * (w + 4)},386 ${n + s * 6},386 ${n},384 Z`,
      side,
    ) +
    line(
      `M${n + s * (w + 6)},370 C${n + s * (w + 8)},384 ${n + s * (w - 8)},386 ${n + s * 2},388 C${n - s * 6},390 ${n - s * 12},386 ${n - s * (w - 2)},380`,
      skin.line,
      4.5,
    )
  )
}

const mouths = {
  smile: (skin) =>
    shape('M-30,-2 C-14,-7 -6,-8 0,-5 C6,-8 16,-7 32,-3 C22,18 -16,20 -30,-2 Z', skin.lip) +
    line('M-36,-4 C-18,6 18,7 38,-6', skin.line, 4.5),
  grin: (skin) =>
    shape(
      'M-40,-8 C-20,0 20,0 40,-10 C34,24 14,32 0,32 C-16,32 -34,24 -40,-8 Z',
      mix(skin.lip, ink, 0.55),
    ) +
    shape(
      'M-36,-6 C-18,1 18,1 36,-8 C34,2 30,9 26,12 C10,17 -12,17 -27,12 C-31,8 -34,2 -36,-6 Z',
      chalk,
    ) +
    shape('M-22,22 C-8,14 8,14 20,22 C12,32 -12,33 -22,22 Z', skin.lip) +
    line('M-42,-10 C-20,0 20,0 42,-12', skin.line, 3.5),
  calm: (skin) =>
    shape('M-26,0 C-12,-7 -6,-7 0,-4 C6,-7 14,-7 28,-1 C18,14 -14,15 -26,0 Z', skin.lip) +
    line('M-30,0 C-14,4 14,4 33,-3', skin.line, 4.5),
  wry: (skin) =>
    line('M-28,2 C-10,6 18,5 36,-10', skin.line, 5) +
    line('M-8,18 C0,21 10,20 16,16', skin.line, 4, 'opacity=".45"'),
}

const freckles = (person, skin) => {
  const random = seeded(41)
  const n = middle(person.turn)
  return times(26, (index) =>
    circle(
      n + (index % 2 ? 1 : -1) * random.between(12, 72),
      random.between(346, 378),
      random.between(1.8, 3.2),
      skin.line,
      'opacity=".5"',
    ),
  )
}

const laughLines = (person, skin) => {
  const n = middle(person.turn)
  return (
    line(
      `M${n - 40},384 C${n - 50},394 ${n - 54},408 ${n - 52},418`,
      skin.line,
      3.5,
      'opacity=".45"',
    ) +
    line(
      `M${n + 40},384 C${n + 50},394 ${n + 54},408 ${n + 52},418`,
      skin.line,
      3.5,
      'opacity=".45"',
    )
  )
}

/** Eyes, brows, nose, mouth, cheeks, and what age or sun adds to them. */
export function features(id, person, skin, browColour) {
  const n = middle(person.turn)
  const cheek = (side) =>
    `<ellipse cx="${n + side * 64}" cy="378" rx="27" ry="19" fill="${skin.blush}" opacity="${person.blush}"/>`
  const look = eye(id, -1, person, skin) + eye(id, 1, person, skin)
  return (
    clipped(`cheeks-${id}`, outline(person), cheek(-1) + cheek(1)) +
    (person.freckled ? freckles(person, skin) : '') +
    (person.lined ? laughLines(person, skin) : '') +
    nose(person, skin) +
    look +
    brow(-1, person, browColour) +
    brow(1, person, browColour)
  )
}

/** The mouth apart, because a beard lies under it. */
export const mouth = (person, skin) =>
  group(
    `translate(${middle(person.turn)} 420) rotate(${person.turn * -1.5})`,
    mouths[person.mouth](person.lashes ? skin : { ...skin, lip: skin.bareLip }),
  )

const beardShape = (person, drop) => {
  const c = CENTRE
  const k = c + person.turn * 12
  const n = middle(person.turn)
  const j = person.jaw
  return `M${c - 109},300 C${c - 111},352 ${c - j - 20},396 ${c - j - 4},428 C${c - j + 14},${456 + drop} ${k - 44},${478 + drop} ${k},${480 + drop}
    C${k + 44},${478 + drop} ${c + j - 14},${456 + drop} ${c + j + 4},428 C${c + j + 20},396 ${c + 111},352 ${c + 109},300
    L${c + 97},318 C${c + 96},352 ${n + 84},384 ${n + 62},394 C${n + 44},400 ${n + 30},392 ${n},397 C${n - 30},392 ${n - 44},400 ${n - 62},394
    C${n - 84},384 ${c - 96},352 ${c - 97},318 Z`
}

/** Facial hair: `stubble`, `trimmed` or `full`; empty without a beard. */
export function beard(person, hair) {
  if (!person.beard) return ''
  const n = middle(person.turn)
  if (person.beard === 'stubble') return shape(beardShape(person, -4), hair.deep, 'opacity=".2"')
  const drop = person.beard === 'full' ? 16 : 3
  const lipGap = shape(
    `M${n - 36},414 C${n - 14},406 ${n + 14},406 ${n + 38},412 C${n + 30},444 ${n - 28},444 ${n - 36},414 Z`,
    hair.deep,
    'opacity=".35"',
  )
  const strands = times(7, (index) => {
    const x = n - 66 + index * 22
    return line(
      `M${x},${446 - Math.abs(index - 3) * 7} q${(index - 3) * -1.5},10 ${(index - 3) * -3},${16 + drop / 3}`,
      hair.light,
      3,
      'opacity=".55"',
    )
  })
  return shape(beardShape(person, drop), hair.base) + lipGap + strands
}

const frames = {
  round: { data: (s) => `M${s - 43},332 a43,42 0 1 0 86,0 a43,42 0 1 0 -86,0 Z` },
  square: {
    data: (s) =>
      `M${s - 35},302 h70 q9,0 9,9 v28 q0,26 -26,26 h-36 q-26,0 -26,-26 v-28 q0,-9 9,-9 Z`,
  },
  rectangle: {
    data: (s) =>
      `M${s - 36},306 h72 q7,0 7,7 v34 q0,14 -14,14 h-58 q-14,0 -14,-14 v-34 q0,-7 7,-7 Z`,
  },
}

/** Glasses of the kind `person.glasses`; the lenses carry one slanted glint. */
export function glasses(person) {
  if (!person.glasses) return ''
  const { kind, colour, width } = person.glasses
  const n = middle(person.turn)
  const half = kind === 'half' ? frames.rectangle : frames[kind]
  const lens = (side) => {
    const place = n + side * 53
    const glint = shape(`M${place - 22},314 h14 l-18,34 h-12 Z`, chalk, 'opacity=".4"')
    const pane = shape(half.data(place), chalk, 'opacity=".16"')
    const rim =
      kind === 'half'
        ? line(`M${place - 43},342 v-27 q0,-7 7,-7 h72 q7,0 7,7 v27`, colour, width)
        : line(half.data(place), colour, width)
    return pane + glint + rim
  }
  const bridge = line(`M${n - 11},324 C${n - 5},315 ${n + 5},315 ${n + 11},324`, colour, width)
  const arms =
    line(`M${n - 96},320 L${CENTRE - 112},314`, colour, width) +
    line(`M${n + 96},320 L${CENTRE + 112},314`, colour, width)
  return arms + lens(-1) + lens(1) + bridge
}
