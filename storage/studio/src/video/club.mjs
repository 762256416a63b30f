import { group, line, rect, shape } from '../core/svg.mjs'

/** Harbour Row FC, the invented club of the demo. */
export const navy = '#14264B'
export const night = '#0C1733'
export const dusk = '#24407A'
export const coral = '#FF6B57'
export const sand = '#F3E3C3'
export const glow = '#FFD27A'
export const white = '#FFFFFF'
export const turf = '#2C7A5A'
export const turfDark = '#23664B'

/** The view box of the telephone. */
export const WIDTH = 390
export const HEIGHT = 844

/** A line of text; `family` is Hanken for text and Bricolage for display. */
export const text = (
  x,
  y,
  content,
  {
    size = 14,
    weight = 500,
    fill = white,
    anchor = 'start',
    family = 'Hanken',
    spacing = 0,
    extra = '',
  } = {},
) =>
  `<text x="${x}" y="${y}" font-family="${family}" font-size="${size}" font-weight="${weight}" fill="${fill}" text-anchor="${anchor}" letter-spacing="${spacing}" ${extra}>${content}</text>`

/** The lantern, the club's badge and its currency, about 24 by 30 units around the origin. */
export const lantern = (body = coral, light = glow) =>
  line('M-5,-11 a5,5 0 0 1 10,0', body, 2.6) +
  rect(-9, -10, 18, 4, body, 2) +
  rect(-7.5, -6, 15, 15, light, 3) +
  line('M0,-4 V7', body, 2) +
  rect(-9.5, 8.5, 19, 4.5, body, 2)

/** The crest: a shield of harbour waves with the lantern on it, 40 by 46 units around the origin. */
export const crest = (ground = navy, edge = sand) =>
  shape('M0,-24 L20,-18 V2 C20,14 10,20 0,25 C-10,20 -20,14 -20,2 V-18 Z', edge) +
  shape(
    'M0,-20.5 L16.8,-15.4 V2 C16.8,12 8.6,17 0,21.2 C-8.6,17 -16.8,12 -16.8,2 V-15.4 Z',
    ground,
  ) +
  group('translate(0 -1) scale(.86)', lantern())
