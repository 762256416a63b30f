import { clipped, line, shape } from '../core/svg.mjs'

/** The middle of the head in a portrait's 768 units. */
export const CENTRE = 384

/** The outline of the skull and face; `jaw` and `chin` are half widths, a turned head moves its chin. */
export function outline({ jaw, chin, turn }) {
  const c = CENTRE
  const k = c + turn * 12
  return `M${c - 107},305 C${c - 109},212 ${c - 66},168 ${c},168 C${c + 66},168 ${c + 109},212 ${c + 107},305
    C${c + 107},352 ${c + jaw + 14},394 ${c + jaw + turn * 4},424
    C${c + jaw - 20},450 ${k + chin + 10},474 ${k},474
    C${k - chin - 10},474 ${c - jaw + 20},450 ${c - jaw + turn * 4},424
    C${c - jaw - 14},394 ${c - 107},352 ${c - 107},305 Z`
}

/** Both ears; the one that the head turns away from is seen less. */
export function ears(skin, turn) {
  const ear = (side) => {
    const x = CENTRE + side * (110 - Math.max(0, side * turn) * 12)
    const fill = side > 0 ? skin.shade : skin.base
    return (
      shape(
        `M${x - side * 8},296 C${x + side * 18},282 ${x + side * 28},306 ${x + side * 22},334
      C${x + side * 18},360 ${x + side * 4},372 ${x - side * 8},360 Z`,
        fill,
      ) +
      line(
        `M${x + side * 4},310 C${x + side * 16},308 ${x + side * 14},326 ${x + side * 6},342`,
        side > 0 ? skin.line : skin.shade,
        4,
      )
    )
  }
  return ear(-1) + ear(1)
}

/** The face with its shaded plane: the light always comes from the left. */
export function face(id, person, skin) {
  const data = outline(person)
  const n = CENTRE + person.turn * 20
  const plane = `M${n + 62},150 C${n + 84},210 ${n + 56},262 ${n + 64},300 C${n + 76},330 ${n + 84},352 ${n + 66},374
    C${n + 50},392 ${n + 52},420 ${n + 40},436 C${n + 26},456 ${n + 4},462 ${n - 20},480 L620,490 L620,150 Z`
  return shape(data, skin.base) + clipped(`face-${id}`, data, shape(plane, skin.shade))
}

/** The neck down to below the collar, with the chin's shadow on it. */
export function neck(id, person, skin) {
  const half = person.neck
  const c = CENTRE
  const data = `M${c - half},400 C${c - half},480 ${c - half - 2},530 ${c - half - 12},560 C${c - half - 40},590 ${c - 150},600 ${c - 190},620
    L${c},760 L${c + 190},620 C${c + 150},600 ${c + half + 40},590 ${c + half + 12},560 C${c + half + 2},530 ${c + half},480 ${c + half},400 Z`
  const k = c + person.turn * 12
  const shadow = `M${c - half - 10},440 L${c - half - 10},482 C${c - half + 10},500 ${k - 30},548 ${k + 6},552
    C${c + 30},556 ${c + 26},590 ${c + 34},640 L${c + 220},660 L${c + half + 40},400 Z`
  return shape(data, skin.base) + clipped(`neck-${id}`, data, shape(shadow, skin.shade))
}
